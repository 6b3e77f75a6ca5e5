import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Plan, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import type {
  ProposeRevisionRequest,
  ProposeRevisionResponseSchema,
  RevisePlanRequest,
  RevisePlanResponseSchema,
} from "@pawl/proto/v1/plan_version_pb.js";
import type { AlikeInputs, RevisePlan } from "../../core/command.js";
import { presentPlan } from "../../core/plan/plan-versions.js";
import type { CompiledPlan } from "../../core/plan/task-spec.js";
import type { Target } from "../../kernel/outcome.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { alikeTasks } from "../same-json.js";
import { readNamespace, requireId, requireNumber, requireReason } from "../validate/fields.js";
import { revisedTaskView } from "../views/plan-view.js";
import { acknowledge, leaseOf, targetOfRun } from "./requests.js";

/** Revises the plan of a run, for people. */
export async function revisePlan(
  edge: Edge,
  request: RevisePlanRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RevisePlanResponseSchema>> {
  const target = targetOfRun(request);
  const { expectedPlanVersion, reason, dryRun } = request;
  requireNumber(expectedPlanVersion, "expected_plan_version", { min: 1, max: 0xffff_ffff });
  const plan = compile(edge, request.plan);
  requireReason(reason, "reason", 1);
  const command: RevisePlan = {
    kind: "RevisePlan",
    expectedPlanVersion,
    plan,
    reason,
    isDryRun: dryRun,
    proposer: undefined,
    alike: await alikeInputs(edge, target, plan),
  };
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply, run }) => ({
      existing: reply.existing,
      version: run.version,
      ...revisionView(reply),
    }),
  );
  return { ...value, position };
}

/** Proposes a revision from a task's code. */
export async function proposeRevision(
  edge: Edge,
  request: ProposeRevisionRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ProposeRevisionResponseSchema>> {
  const lease = leaseOf(readNamespace(request.namespace), request, "");
  const { target, task, leaseVersion } = lease;
  const { record, key, seenThrough, reason, expectedPlanVersion } = request;
  requireId("step", record, "record");
  if (key !== undefined) {
    requireId("discriminator", key, "key");
  }
  const plan = compile(edge, request.plan);
  requireReason(reason, "reason", 1);
  await acknowledge(edge, lease);
  const command: RevisePlan = {
    kind: "RevisePlan",
    expectedPlanVersion: expectedPlanVersion === 0 ? undefined : expectedPlanVersion,
    plan,
    reason,
    isDryRun: false,
    proposer: { task, leaseVersion, record, key, seenThrough },
    alike: await alikeInputs(edge, target, plan),
  };
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply }) => ({ existing: reply.existing, ...revisionView(reply) }),
  );
  return { ...value, position };
}

function compile(edge: Edge, plan: Plan | undefined): CompiledPlan {
  return edge.plans.compile(plan === undefined ? undefined : toBinary(PlanSchema, plan), "plan");
}

function revisionView({ revision }: { readonly revision?: Parameters<typeof viewOf>[0] }): {
  planVersion: number;
  tasks: ReturnType<typeof revisedTaskView>[];
} {
  return revision === undefined ? { planVersion: 0, tasks: [] } : viewOf(revision);
}

function viewOf(revision: {
  readonly planVersion: number;
  readonly tasks: readonly Parameters<typeof revisedTaskView>[0][];
}): { planVersion: number; tasks: ReturnType<typeof revisedTaskView>[] } {
  return { planVersion: revision.planVersion, tasks: revision.tasks.map(revisedTaskView) };
}

/**
 * Names of the tasks whose inputs differ from the present plan's in their bytes, but are the same JSON document. Compared here, since the loop reads no payloads; should
 * another revision come first, it does not count.
 */
async function alikeInputs(
  edge: Edge,
  target: Target,
  plan: CompiledPlan,
): Promise<AlikeInputs | undefined> {
  const present = await edge.kernel.view(target, presentPlan);
  const tasks = await alikeTasks(edge, target, { recorded: present, received: plan });
  return tasks.size === 0 ? undefined : { with: present.bytes, tasks };
}
