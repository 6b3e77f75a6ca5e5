import { create } from "@bufbuild/protobuf";
import {
  type ChangeTaskPolicy,
  ChangeTaskPolicySchema,
  type ChangeTaskRequest,
  CompleteTaskByHandSchema,
  FailTaskByHandSchema,
  ResetTaskAttemptsSchema,
  RunTaskNowSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { DefinitionInvalid } from "../errors.js";
import type { TaskChange, TaskPolicyChange } from "../task-change.js";
import { encodeValue } from "./codec.js";
import { buildRetry, buildTimeouts, checkSchedule } from "./plan-message.js";

/** The change as it is sent. @throws DefinitionInvalid, ValueRefused */
export function buildTaskChange(task: string, change: TaskChange): ChangeTaskRequest["change"] {
  switch (change.change) {
    case "now":
      return { case: "runNow", value: create(RunTaskNowSchema) };
    case "complete": {
      const output = encodeValue(change.output, `the output of task "${task}"`);
      const value = create(CompleteTaskByHandSchema, output === undefined ? {} : { output });
      return { case: "complete", value };
    }
    case "fail":
      return { case: "fail", value: create(FailTaskByHandSchema) };
    case "reset":
      return { case: "resetAttempts", value: create(ResetTaskAttemptsSchema) };
    case "policy":
      return { case: "policy", value: buildPolicy(task, change) };
    default:
      throw unknownChange(change);
  }
}

function buildPolicy(task: string, { retry, timeouts }: TaskPolicyChange): ChangeTaskPolicy {
  checkSchedule({ ...(retry && { retry }), ...(timeouts && { timeouts }) }, `task "${task}"`);
  const policy = create(ChangeTaskPolicySchema);
  if (retry !== undefined) policy.retry = buildRetry(retry);
  if (timeouts !== undefined) policy.timeouts = buildTimeouts(timeouts);
  return policy;
}

/** Code without types may name anything. */
function unknownChange(change: never): DefinitionInvalid {
  const { change: name }: { readonly change?: unknown } = change;
  return new DefinitionInvalid(
    `Expected change to be one of now, complete, fail, reset, policy, but it is "${String(name)}".`,
  );
}
