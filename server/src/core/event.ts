import type { EventShape } from "@pawl/proto/log/v1/event_wire.js";

/** What happened: exactly the oneof of `pawl.log.v1.Event`, so that stored events need no mapping. */
export type EventBody = Exclude<EventShape["body"], { case: undefined }>;

/** Name of an event type, for example `taskCompleted`. */
export type EventCase = EventBody["case"];

/** The value of one event type. */
export type EventValue<C extends EventCase> = Extract<EventBody, { case: C }>["value"];

/** What is known of an event besides its body. */
export interface EventMeta {
  /** When it was decided, in ms since the Unix epoch, by kernel time. */
  readonly atMs: number;
  /** Its place in the run, from 1. */
  readonly number: number;
}
