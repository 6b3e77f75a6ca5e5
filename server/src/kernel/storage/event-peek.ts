import { readEvent } from "@pawl/proto/log/v1/event_wire.js";
import { WireReader } from "@pawl/proto/wire/reader.js";
import type { EventBody, EventCase } from "../../core/event.js";

const deltaTag = 8;
const runStartedTag = 18;
const operationIntendedTag = 82;
const proposalMadeTag = 258;

/** What a look at the first bytes of an event says. */
export interface PeekedEvent {
  readonly deltaMs: number;
  /** Only for the types that give a name: the beginning of a run, and the intent or proposal of an operation. */
  readonly naming:
    | Extract<EventCase, "runStarted" | "operationIntended" | "proposalMade">
    | undefined;
}

/** Looks at an event without decoding it: a start looks at every event of the tail and needs few of them. */
export function peekEvent(bytes: Uint8Array): PeekedEvent {
  const reader = new WireReader(bytes);
  let deltaMs = 0;
  let tag = bytes.length === 0 ? 0 : reader.tag();
  if (tag === deltaTag) {
    deltaMs = reader.varint32();
    tag = reader.pos < bytes.length ? reader.tag() : 0;
  }
  return { deltaMs, naming: namingOf(tag) };
}

/** Decodes one event. */
export function decodeBody(bytes: Uint8Array): EventBody | undefined {
  const { body } = readEvent(new WireReader(bytes), bytes.length);
  return body.case === undefined ? undefined : body;
}

function namingOf(tag: number): PeekedEvent["naming"] {
  switch (tag) {
    case runStartedTag:
      return "runStarted";
    case operationIntendedTag:
      return "operationIntended";
    case proposalMadeTag:
      return "proposalMade";
    default:
      return undefined;
  }
}
