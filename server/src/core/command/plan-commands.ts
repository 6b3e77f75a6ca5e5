/** Commands about the plan of a run. */

import type { CompiledPlan } from "../plan/task-spec.js";
import type { TaskRef } from "./task-commands.js";

/** The lease under which code proposes a revision, and the record of it. */
export interface PlanProposer {
  readonly task: TaskRef;
  readonly leaseVersion: number;
  /** Name of the step that remembers it. */
  readonly record: string;
  readonly key: string | undefined;
  readonly seenThrough: number;
}

/** Inputs that differ in their bytes but are the same JSON document, as they were compared outside the loop. */
export interface AlikeInputs {
  /** The plan, as received, that the new one was compared with. */
  readonly with: Uint8Array;
  /** Names of the tasks. */
  readonly tasks: ReadonlySet<string>;
}

/** Revises the plan of a run. */
export interface RevisePlan {
  readonly kind: "RevisePlan";
  /** The version that the plan was made from; undefined: the present one, for code alone. */
  readonly expectedPlanVersion: number | undefined;
  /** The new plan, numbered by place. */
  readonly plan: CompiledPlan;
  readonly reason: string;
  /** True: nothing is changed. */
  readonly isDryRun: boolean;
  /** Undefined: a person revises it. */
  readonly proposer: PlanProposer | undefined;
  /** Undefined: nothing was compared, and no input that differs is alike. */
  readonly alike: AlikeInputs | undefined;
}
