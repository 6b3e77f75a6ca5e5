import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { RetryPolicySchema, TaskTimeoutsSchema } from "@pawl/proto/v1/plan_pb.js";
import { decodeRetryPolicy, decodeTaskTimeouts } from "@pawl/proto/v1/plan_wire.js";
import {
  type ChangeTaskRequest,
  ChangeTaskRequestSchema,
  type ChangeTaskResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { TaskChangeOrder } from "../../core/command.js";
import type { Target } from "../../kernel/outcome.js";
import { sha256 } from "../../log/sha256.js";
import { admitMessage } from "../admission.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import { requireId, requireReason } from "../validate/fields.js";
import { standingOf, targetOfRun } from "./requests.js";

/** Changes one task, for operators. */
export async function changeTask(
  edge: Edge,
  request: ChangeTaskRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ChangeTaskResponseSchema>> {
  const target = targetOfRun(request);
  const { task, expectedVersion, reason } = request;
  requireId("task", task, "task");
  requireReason(reason, "reason", 1);
  const change = await orderOf(edge, request, target);
  // However the default namespace was written, the request is the same.
  const identity = create(ChangeTaskRequestSchema, { ...request, namespace: "" });
  const digest = sha256(toBinary(ChangeTaskRequestSchema, identity));
  const command = { kind: "ChangeTask", task, expectedVersion, reason, change, digest } as const;
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply, run }) => ({ existing: reply.existing, ...standingOf(run, task) }),
  );
  return { ...value, position };
}

async function orderOf(
  edge: Edge,
  { change }: ChangeTaskRequest,
  target: Target,
): Promise<TaskChangeOrder> {
  switch (change.case) {
    case "runNow":
      return { case: "backoffSkipped" };
    case "fail":
      return { case: "failed" };
    case "resetAttempts":
      return { case: "attemptsReset" };
    case "complete":
      return {
        case: "completed",
        output: await admitMessage(edge, target, change.value.output, "complete.output"),
      };
    case "policy": {
      const { retry, timeouts } = change.value;
      if (retry === undefined && timeouts === undefined) {
        throw badField("policy", "with retry or timeouts", "empty");
      }
      return {
        case: "policy",
        retry: retry && decodeRetryPolicy(toBinary(RetryPolicySchema, retry)),
        timeouts: timeouts && decodeTaskTimeouts(toBinary(TaskTimeoutsSchema, timeouts)),
      };
    }
    default:
      throw badField("change", "one of run_now, complete, fail, reset_attempts, policy", "absent");
  }
}
