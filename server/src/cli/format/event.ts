import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { HistoryEvent } from "@pawl/proto/v1/history_pb.js";
import { describeFailure } from "./failure.js";
import { describePayload } from "./payload.js";
import { principalName } from "./principal.js";
import type { Style } from "./style.js";
import { clean } from "./text.js";
import { type Clock, formatLocal } from "./time.js";

/** Longest content shown with an event. */
const CONTENT_MAX = 120;

const NUMBER_WIDTH = 5;
const TYPE_WIDTH = 20;

/** One event in one line: number, time, type, and what it says. */
export function eventLine(event: HistoryEvent, clock: Clock, style: Style): string {
  const at = event.at === undefined ? "-" : formatLocal(timestampMs(event.at), clock);
  const number = `${event.number}`.padStart(NUMBER_WIDTH);
  const type = clean(event.type).padEnd(TYPE_WIDTH);
  const text = describeEvent(event);
  return `${style("dim", number)}  ${style("dim", at)}  ${style("bold", type)}  ${clean(text)}`.trimEnd();
}

/** What an event says, but for its number, time and type. */
export function describeEvent(event: HistoryEvent): string {
  const { task, attempt, operationKey, step, reviewId, failure, payload, principal } = event;
  const parts = [
    task === "" ? "" : `task ${task}`,
    attempt === 0 ? "" : `attempt ${attempt}`,
    operationKey === "" ? "" : `operation ${operationKey}`,
    step === "" ? "" : `step ${step}`,
    reviewId === "" ? "" : `review ${reviewId}`,
    event.detail,
    failure === undefined ? "" : describeFailure(failure),
    payload === undefined ? "" : describePayload(payload, CONTENT_MAX),
    principal === "" ? "" : `asked by ${principalName(principal)}`,
  ];
  const said = parts.filter((part) => part !== "");
  // A semicolon stands for the full stop of a sentence that something follows.
  return said
    .map((part, index) => (index < said.length - 1 ? part.replace(/\.$/, "") : part))
    .join("; ");
}
