import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { RetryPolicySchema, TaskTimeoutsSchema } from "@pawl/proto/v1/plan_pb.js";
import { decodeRetryPolicy, decodeTaskTimeouts } from "@pawl/proto/v1/plan_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type ChangeTaskRequest,
  ChangeTaskRequestSchema,
  type ChangeTaskResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { TaskChangeOrder } from "../../core/command.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import type { Target } from "../../kernel/outcome.js";
import { sha256 } from "../../log/sha256.js";
import { admit } from "../admission.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireId, requireReason } from "../validate/fields.js";
import { targetOfRun } from "./requests.js";

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
    ({ reply, run }) => {
      const state = run.tasks[taskNumber(run, task) ?? -1];
      return {
        existing: reply.existing,
        version: state?.version ?? 0,
        status: state?.status ?? TaskStatus.UNSPECIFIED,
      };
    },
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
      return { case: "completed", output: await outputOf(edge, change.value, target) };
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

async function outputOf(
  edge: Edge,
  { output }: Extract<ChangeTaskRequest["change"], { case: "complete" }>["value"],
  target: Target,
): Promise<Uint8Array | undefined> {
  if (output === undefined) {
    return undefined;
  }
  const bytes = toBinary(PayloadSchema, output);
  scanPayload(bytes, "complete.output");
  return (await admit(edge, target, bytes, "complete.output")) ?? bytes;
}
