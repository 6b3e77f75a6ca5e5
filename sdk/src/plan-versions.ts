import type { Plan } from "@pawl/proto/v1/plan_pb.js";
import type { PlanRef } from "./plan.js";

/** A plan as a run may be revised to it: made by `plan()`, or the message itself, as `run.plan()` gives it. At most 512 KiB encoded. */
export type NewPlan = PlanRef | Plan;

/** One version of the plan of a run. */
export interface PlanVersionInfo {
  /** The version, from 1. */
  readonly planVersion: number;
  /** SHA-256 of the plan as it was sent, in hex: 64 digits. */
  readonly digest: string;
  /** SHA-256 of what its tasks are (names, kinds, inputs, needs, and whose output is the run's), in hex: the same for plans that differ in policies alone. 64 digits. */
  readonly specificationDigest: string;
  /** Why it was made. Empty for version 1. */
  readonly reason: string;
  /** Who made it, as the connection proved; for version 1 who started the run. */
  readonly principal: string;
  /** Name of the task whose code proposed it. Empty when no task did. */
  readonly proposedBy: string;
  /** When it was made, by the kernel's clock. Undefined when the kernel does not say. */
  readonly createdAt: Date | undefined;
  /** Number of its tasks. */
  readonly taskCount: number;
  /** True for the version that the run goes by. */
  readonly isPresent: boolean;
}

/** A version with its plan. */
export interface RunPlan extends PlanVersionInfo {
  /** The plan, whole. A changed copy of it (`clone` of `@bufbuild/protobuf`) can be given to `run.revisePlan`. */
  readonly plan: Plan;
}

/** What a revision does to one task. */
export interface RevisedTask {
  /** Its name. */
  readonly name: string;
  /**
   * `reused`: it is COMPLETED, and its output counts for the new version. `kept`: it goes on undisturbed. `superseded`: it was changed or removed; what was open of it has ended. `added`: it is
   * new, or the new form of a changed one.
   */
  readonly becomes: "reused" | "kept" | "superseded" | "added";
  /** What differs, as the kernel names it: `kind`, `input`, `needs`, … */
  readonly fields: readonly string[];
}

/** Answer to a revision. */
export interface RevisionAnswer {
  /** True when nothing was changed: this plan is the present one, or the same revision was recorded before. */
  readonly existing: boolean;
  /** The version that the plan has, or on a dry run would have. */
  readonly planVersion: number;
  /** What became, or would become, of each task of the version before and of the new one: each record once. */
  readonly tasks: readonly RevisedTask[];
}

/** How a plan is revised. */
export interface RevisePlanOptions {
  /** The version that the new plan was made from, from 1; when another one came since, nothing is changed (`PAWL_STALE_VERSION`). */
  readonly expectedPlanVersion: number;
  /** Why, for the record. 1 to 1,000 bytes. */
  readonly reason: string;
  /** True: nothing is changed; the answer says what would be. Default false. */
  readonly dryRun?: boolean;
}

/** How code revises the plan of its own run. */
export interface ProposeRevisionOptions {
  /** Why, for the record. 1 to 1,000 bytes. */
  readonly reason: string;
  /** The version that the new plan was made from. Default: whichever is the present one. */
  readonly expectedPlanVersion?: number;
  /** Tells revisions of one name apart, in a loop. */
  readonly key?: string;
}

/** A revision as it is recorded under its name. */
export interface RecordedRevision {
  /** The version that the plan has, or has had. */
  readonly planVersion: number;
}
