import { createHash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Plan, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import {
  type PlanVersion,
  type RevisedTask as RevisedTaskMessage,
  TaskRevision,
} from "@pawl/proto/v1/plan_version_pb.js";
import { PawlError } from "../errors.js";
import type {
  NewPlan,
  PlanVersionInfo,
  RevisedTask,
  RevisePlanOptions,
  RevisionAnswer,
  RunPlan,
} from "../plan-versions.js";
import type { ClientCore } from "./client-core.js";
import { callUnary } from "./unary.js";

/** The plan of one run. */
export class RunPlans {
  readonly #core: ClientCore;
  readonly #runId: string;

  constructor(core: ClientCore, runId: string) {
    this.#core = core;
    this.#runId = runId;
  }

  /** One version, by default the present one. */
  async get(planVersion = 0): Promise<RunPlan> {
    const { api, namespace } = this.#core;
    const request = { namespace, runId: this.#runId, planVersion };
    const { plan, version } = await callUnary(
      (call) => api.runs.getPlan(request, call),
      this.#core.unary(),
    );
    if (plan === undefined || version === undefined) {
      throw new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        "Expected the kernel to answer with a plan, but the answer is empty.",
      );
    }
    return { ...infoOf(version), plan };
  }

  /** All versions, oldest first. */
  async list(): Promise<readonly PlanVersionInfo[]> {
    const { api, namespace } = this.#core;
    const request = { namespace, runId: this.#runId };
    const { versions } = await callUnary(
      (call) => api.runs.listPlanVersions(request, call),
      this.#core.unary(),
    );
    return versions.map(infoOf);
  }

  /** Makes the next one. */
  async revise(plan: NewPlan, options: RevisePlanOptions): Promise<RevisionAnswer> {
    const { api, namespace } = this.#core;
    const { expectedPlanVersion, reason, dryRun = false } = options;
    const request = {
      ...{ namespace, runId: this.#runId, expectedPlanVersion, reason, dryRun },
      plan: messageOf(plan),
    };
    const answer = await callUnary(
      (call) => api.runs.revisePlan(request, call),
      this.#core.unary(),
    );
    const { existing, planVersion, tasks } = answer;
    return { existing, planVersion, tasks: tasks.map(revisedTask) };
  }
}

/** The message of a plan. */
export function messageOf(plan: NewPlan): Plan {
  return "message" in plan ? plan.message : plan;
}

/** SHA-256 of a plan as it is sent, in hex. */
export function planDigest(plan: Plan): string {
  return createHash("sha256").update(toBinary(PlanSchema, plan)).digest("hex");
}

/** A copy that nobody changes while it is on its way. */
export function copyOf(plan: Plan): Plan {
  return fromBinary(PlanSchema, toBinary(PlanSchema, plan));
}

function infoOf(version: PlanVersion): PlanVersionInfo {
  const { planVersion, reason, principal, proposedBy, taskCount, createdAt } = version;
  return {
    ...{ planVersion, reason, principal, proposedBy, taskCount },
    digest: Buffer.from(version.digest).toString("hex"),
    specificationDigest: Buffer.from(version.specificationDigest).toString("hex"),
    createdAt: createdAt === undefined ? undefined : timestampDate(createdAt),
    isPresent: version.present,
  };
}

const words = new Map<TaskRevision, RevisedTask["becomes"]>([
  [TaskRevision.REUSED, "reused"],
  [TaskRevision.KEPT, "kept"],
  [TaskRevision.SUPERSEDED, "superseded"],
  [TaskRevision.ADDED, "added"],
]);

function revisedTask({ name, revision, fields }: RevisedTaskMessage): RevisedTask {
  const becomes = words.get(revision);
  if (becomes === undefined) {
    throw new PawlError(
      "PAWL_UNKNOWN_ANSWER",
      `Expected the revision of task "${name}" to be one that this SDK knows, but it is ${revision}. Update @pawl/sdk.`,
    );
  }
  return { name, becomes, fields };
}
