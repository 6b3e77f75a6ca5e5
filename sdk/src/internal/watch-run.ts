import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { HistoryEvent } from "@pawl/proto/v1/history_pb.js";
import { DefinitionInvalid } from "../errors.js";
import type { RunEvent, WatchOptions } from "../run.js";
import type { ClientCore } from "./client-core.js";
import { decodePayload } from "./codec.js";
import { fromFailure } from "./failure.js";
import { Reopening } from "./reopening.js";

/** Events of a run, from a position to its end, over however many streams. */
export async function* watchRun(
  core: ClientCore,
  runId: string,
  options: WatchOptions,
): AsyncGenerator<RunEvent> {
  const { api, namespace } = core;
  const { signal } = core.unary(options.signal);
  const reopening = new Reopening(core, signal);
  let position: Uint8Array = readPosition(options.after);
  for (;;) {
    signal.throwIfAborted();
    try {
      for await (const message of api.runs.watchRun({ namespace, runId, position }, { signal })) {
        reopening.answered();
        position = message.position;
        yield* readEvents(message.events, message.position);
        if (message.closed) return;
      }
    } catch (cause) {
      reopening.failed(cause);
    }
    await reopening.next();
  }
}

/** A position as it was given out. */
export function readPosition(after: string | undefined): Uint8Array {
  if (after === undefined) {
    return new Uint8Array(0);
  }
  if (!/^[A-Za-z0-9_-]+$/.test(after)) {
    throw new DefinitionInvalid(
      "Expected `after` to be the position of an event, but it is not. Give what `event.position` was.",
    );
  }
  return new Uint8Array(Buffer.from(after, "base64url"));
}

function* readEvents(events: readonly HistoryEvent[], position: Uint8Array): Generator<RunEvent> {
  for (const [place, event] of events.entries()) {
    const isLast = place === events.length - 1;
    yield readEvent(event, isLast ? Buffer.from(position).toString("base64url") : undefined);
  }
}

function readEvent(event: HistoryEvent, position: string | undefined): RunEvent {
  return {
    number: event.number,
    sequence: String(event.sequence),
    at: event.at === undefined ? new Date(0) : timestampDate(event.at),
    type: event.type,
    task: event.task,
    attempt: event.attempt,
    operationKey: event.operationKey,
    step: event.step,
    reviewId: event.reviewId,
    proposalId: event.proposalId,
    value:
      event.payload?.body.case === "data"
        ? decodePayload(event.payload, "the event's content")
        : undefined,
    failure: event.failure === undefined ? undefined : fromFailure(event.failure),
    detail: event.detail,
    principal: event.principal,
    position,
  };
}
