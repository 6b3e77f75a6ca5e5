import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetUpdateRequest,
  type GetUpdateResponseSchema,
  type UpdateAnswerSchema,
  type UpdateRunRequest,
  type UpdateRunResponseSchema,
  UpdateStatus,
} from "@pawl/proto/v1/run_service_pb.js";
import { limits } from "../../core/limits.js";
import { notFound, type Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { findUpdate, whyNeverAnswered } from "../../core/view/update-standing.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { admitMessage } from "../admission.js";
import { executeOne } from "../answers.js";
import { awaitEnd } from "../await-end.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readDurationMs, requireId, requireNumber, requireOwnId } from "../validate/fields.js";
import { payloadOf, timestampView } from "../views/payload-view.js";
import { targetOfRun } from "./requests.js";

/** Sends an update into a run, and waits for the answer. */
export async function updateRun(
  edge: Edge,
  request: UpdateRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof UpdateRunResponseSchema>> {
  const target = targetOfRun(request);
  const { name, updateId, expectedVersion } = request;
  requireId("step", name, "name");
  requireOwnId(updateId, "update_id", limits.idBytesMax);
  if (expectedVersion !== undefined) {
    requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  }
  const waitMs = readDurationMs(request.wait, "wait", limits.waitMsMax);
  const payload = await admitMessage(edge, target, request.payload, "payload");
  const command = {
    ...({ kind: "SendSignal", isUpdate: true, name, payload } as const),
    ...{ requestId: updateId, expectedVersion },
  };
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply, run }) => ({
      existing: reply.existing,
      version: run.version,
      standing: standingOf(run, updateId),
    }),
  );
  const { standing, ...acknowledged } = value;
  const isOpen = "answer" in standing && standing.answer.status === UpdateStatus.OPEN;
  const settled =
    isOpen && waitMs > 0
      ? ((await awaitAnswer(edge, { target, updateId, waitMs }, call)) ?? standing)
      : standing;
  return { ...acknowledged, answer: answerOf(settled), position };
}

/** Waits for the answer to an update that was sent before. */
export async function getUpdate(
  edge: Edge,
  request: GetUpdateRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof GetUpdateResponseSchema>> {
  const target = targetOfRun(request);
  const { updateId } = request;
  requireOwnId(updateId, "update_id", limits.idBytesMax);
  const waitMs = readDurationMs(request.wait, "wait", limits.waitMsMax);
  const standing =
    (await awaitAnswer(edge, { target, updateId, waitMs }, call)) ??
    (await edge.kernel.view(target, (run) => standingOf(run, updateId)));
  return { name: standing.name, answer: answerOf(standing) };
}

/** Where an update stands: its answer, or why there is and will be none. */
type Standing = { readonly name: string } & (
  | { readonly answer: MessageInitShape<typeof UpdateAnswerSchema> }
  | { readonly rejection: Rejection }
);

interface Awaited {
  readonly target: Target;
  readonly updateId: string;
  readonly waitMs: number;
}

/** The answer once it is there and durable; undefined when the wait was over first. */
async function awaitAnswer(
  edge: Edge,
  { target, updateId, waitMs }: Awaited,
  { signal }: CallContext,
): Promise<Standing | undefined> {
  return await awaitEnd(edge, {
    target,
    waitMs,
    signal,
    isThere: (run) => {
      const update = findUpdate(run, updateId);
      return (
        update === undefined ||
        update.answer !== undefined ||
        whyNeverAnswered(run, update) !== undefined
      );
    },
    project: (run) => standingOf(run, updateId),
  });
}

function answerOf(standing: Standing): MessageInitShape<typeof UpdateAnswerSchema> {
  if ("rejection" in standing) {
    throw new RejectionError(standing.rejection);
  }
  return standing.answer;
}

function standingOf(run: Run, updateId: string): Standing {
  const update = findUpdate(run, updateId);
  if (update === undefined) {
    return { name: "", rejection: notFound("update", updateId) };
  }
  const { name, answer } = update;
  if (answer === undefined) {
    const rejection = whyNeverAnswered(run, update);
    return rejection === undefined
      ? { name, answer: { status: UpdateStatus.OPEN } }
      : { name, rejection };
  }
  const { result, refused, atMs } = answer;
  const answeredAt = timestampView(atMs);
  const times = answeredAt === undefined ? {} : { answeredAt };
  return refused === undefined
    ? {
        name,
        answer: {
          ...times,
          status: UpdateStatus.ACCEPTED,
          ...(result === undefined ? {} : { result: payloadOf(result) }),
        },
      }
    : { name, answer: { ...times, status: UpdateStatus.REFUSED, reason: refused.message } };
}
