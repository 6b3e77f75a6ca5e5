import { type InputRequest, InputStatus, InputStatusSchema } from "@pawl/proto/v1/input_pb.js";
import { enumWord } from "./enum-word.js";
import type { Field } from "./field.js";
import { jsonField, payloadField } from "./payload.js";
import { principalName } from "./principal.js";
import type { Style } from "./style.js";
import { clean } from "./text.js";
import { type Clock, formatTime } from "./time.js";

/** One sentence: which request, and where it stands. */
export function inputHeadline(input: InputRequest, style: Style): string {
  const id = style("bold", clean(input.inputId));
  return input.status === InputStatus.OPEN
    ? `Input request ${id} ${style("attention", "waits for an answer")}.`
    : `Input request ${id} is ${enumWord(InputStatusSchema, input.status)}.`;
}

/** What else is known of a request, by name. */
export function inputFields(input: InputRequest, clock: Clock): Field[] {
  const { key, expiresAt, closedAt, answer } = input;
  return [
    ["question", clean(input.question)],
    ["for", input.addressee === "" ? "anybody" : input.addressee],
    ["schema", input.schema === "" ? undefined : jsonField(input.schema)],
    ["run", input.runId],
    ["task", input.task],
    ["name", key === undefined ? input.name : `${input.name}/${key}`],
    ["asked", formatTime(input.askedAt, clock)],
    ["expires", expiresAt === undefined ? undefined : formatTime(expiresAt, clock)],
    ["ended", closedAt === undefined ? undefined : formatTime(closedAt, clock)],
    ["answer", payloadField(answer)],
    ["declined", input.declined],
    ["by", principalName(input.answeredBy)],
    ["version", `${input.version}`],
  ];
}
