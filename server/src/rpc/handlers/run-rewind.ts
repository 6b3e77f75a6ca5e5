import {
  clone,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type RetryRunRequest,
  RetryRunRequestSchema,
  type RetryRunResponseSchema,
  RewindEffects,
  RewindMessages,
  type RewindOutcomeSchema,
  type RewindRunRequest,
  RewindRunRequestSchema,
  type RewindRunResponseSchema,
} from "@pawl/proto/v1/rewind_pb.js";
import type { RetryRun, RewindPoint, RewindRun } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { sha256 } from "../../log/sha256.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import {
  requireId,
  requireKnown,
  requireNumber,
  requireReason,
  requireText,
} from "../validate/fields.js";
import { rewindView } from "../views/rewind-view.js";
import { targetOfRun } from "./requests.js";

/** Lets a run go on from an earlier point. */
export function rewindRun(
  edge: Edge,
  request: RewindRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RewindRunResponseSchema>> {
  const point = pointOf(request);
  const common = commonOf(RewindRunRequestSchema, request);
  requireKnown(request.messages, "messages", RewindMessages);
  requireKnown(request.effects, "effects", RewindEffects);
  const dropsMessages = request.messages === RewindMessages.DROP;
  const command: RewindRun = { kind: "RewindRun", ...common, to: point, dropsMessages };
  return goBack(edge, request, command, call);
}

/** Tries again what failed of a run. */
export function retryRun(
  edge: Edge,
  request: RetryRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RetryRunResponseSchema>> {
  const { tasks, cancelled } = request;
  if (tasks.length > limits.batchItemsMax) {
    throw badField("tasks", `at most ${limits.batchItemsMax} names`, `${tasks.length}`);
  }
  for (const [index, task] of tasks.entries()) {
    requireId("task", task, `tasks[${index}]`);
  }
  const common = commonOf(RetryRunRequestSchema, request);
  return goBack(edge, request, { kind: "RetryRun", ...common, tasks, cancelled }, call);
}

interface WentBack {
  readonly existing: boolean;
  readonly version: number;
  readonly generation: number;
  readonly outcome?: MessageInitShape<typeof RewindOutcomeSchema>;
  readonly position: Uint8Array;
}

async function goBack(
  edge: Edge,
  request: RewindRunRequest | RetryRunRequest,
  command: RewindRun | RetryRun,
  call: CallContext,
): Promise<WentBack> {
  const order = { target: targetOfRun(request), command };
  const { value, position } = await executeOne(
    edge,
    order,
    call.caller,
    ({ reply, run, runNumber }) => ({
      existing: reply.existing,
      version: run.version,
      generation: reply.rewind?.generation ?? run.generation,
      ...(reply.rewind === undefined ? {} : { outcome: rewindView(reply.rewind, runNumber) }),
    }),
  );
  return { ...value, position };
}

function commonOf<Desc extends DescMessage>(
  schema: Desc,
  request: MessageShape<Desc> & (RewindRunRequest | RetryRunRequest),
): Pick<RewindRun, "expectedVersion" | "requestId" | "digest" | "reason" | "dryRun"> {
  const { requestId, expectedVersion, reason, dryRun } = request;
  if (!dryRun || requestId !== "") {
    requireText(requestId, "request_id", { min: 1, max: limits.idBytesMax });
  }
  requireReason(reason, "reason");
  // However the default namespace was written, and whichever version it was to have, the request is the same.
  const identity: MessageShape<Desc> = clone(schema, request);
  Object.assign(identity, { namespace: "", expectedVersion: undefined });
  const digest = sha256(toBinary(schema, identity));
  return { requestId, expectedVersion, reason, dryRun, digest };
}

function pointOf({ to }: RewindRunRequest): RewindPoint {
  switch (to.case) {
    case "event":
      requireNumber(to.value, "to.event", { min: 1, max: 0xffff_ffff });
      return { case: "event", event: to.value };
    case "task": {
      const { task, record: name, key } = to.value;
      requireId("task", task, "to.task.task");
      if (name !== undefined) {
        requireText(name, "to.task.record", { min: 1, max: 2 * limits.idBytesMax });
      } else if (key !== undefined) {
        throw badField("to.task.key", "absent without a record", `"${key}"`);
      }
      return { case: "task", task, record: name === undefined ? undefined : { name, key } };
    }
    default:
      throw badField("to", "one of event, task", "absent");
  }
}
