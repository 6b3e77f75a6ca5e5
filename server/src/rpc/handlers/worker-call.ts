import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PlanTaskSchema } from "@pawl/proto/v1/plan_pb.js";
import { decodePlanTask } from "@pawl/proto/v1/plan_wire.js";
import type {
  CallTasksRequest,
  CallTasksResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { callCommand } from "../commands/call.js";
import type { Edge } from "../edge.js";
import { admitInputs, largeInputs } from "../streams/work-preparation.js";
import { acknowledge, leaseOfRequest, standingOf } from "./requests.js";

/** Calls tasks from a task's code. */
export async function callTasks(
  edge: Edge,
  request: CallTasksRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof CallTasksResponseSchema>> {
  const lease = leaseOfRequest(request);
  const { target, task, leaseVersion } = lease;
  const tasks = request.tasks.map((each) => decodePlanTask(toBinary(PlanTaskSchema, each)));
  const { cancels, stops, abandons } = request;
  const parts = { leaseVersion, tasks, cancels, stops, abandons };
  callCommand(parts, task); // What is bad is not stored either.
  await acknowledge(edge, lease);
  const inputs = await admitInputs(edge, target, largeInputs(tasks));
  const order = { target, command: callCommand(parts, task, inputs) };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: standingOf(run, task).version,
  }));
  return { ...value, position };
}
