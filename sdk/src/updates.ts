import type { Duration } from "./duration.js";
import { checkId } from "./internal/ids.js";
import type { WaitOptions } from "./run.js";
import type { Schema } from "./schema.js";

/**
 * An update by name and types: a message into a run whose sender waits for the answer of the code that takes it.
 * `Sent` is what the sender gives, `Input` what the code gets, `Returned` what it accepts with, `Result` what the sender gets.
 */
export interface Update<Sent = unknown, Input = unknown, Returned = unknown, Result = unknown> {
  /** Always `update`. */
  readonly type: "update";
  /** Name: what the code waits for. */
  readonly name: string;
  /** Checks what is sent, at the sender and again where it is taken. Undefined when nothing does. */
  readonly inputSchema: Schema<unknown, unknown> | undefined;
  /** Checks what it is accepted with. Undefined when nothing does. */
  readonly resultSchema: Schema<unknown, unknown> | undefined;
  /** Types only: no value at run time. */
  readonly types?: {
    readonly sent: Sent;
    readonly input: Input;
    readonly returned: Returned;
    readonly result: Result;
  };
}

/** What an update is, besides its name. */
export interface UpdateSpec<Sent, Input, Returned, Result> {
  /** Checks and transforms what is sent, where it is taken: what it refuses is refused to the sender, and never reaches the code. Absent: it has no content. */
  readonly input?: Schema<Sent, Input>;
  /** Checks and transforms what it is accepted with. Absent: it is accepted with nothing. */
  readonly result?: Schema<Returned, Result>;
}

/**
 * Declares an update, for whoever sends it and for the code that takes it.
 *
 * @param name 1 to 200 bytes.
 * @throws DefinitionInvalid
 */
export function update<Sent = undefined, Input = Sent, Returned = undefined, Result = Returned>(
  name: string,
  spec: UpdateSpec<Sent, Input, Returned, Result> = {},
): Update<Sent, Input, Returned, Result> {
  return {
    type: "update",
    name: checkId(name, "the name of an update"),
    inputSchema: spec.input,
    resultSchema: spec.result,
  };
}

/** An update that the code has taken. It answers it, once, by `accept` or `refuse`; what is recorded first counts, also when the code runs again. */
export interface UpdateReceived<Input, Returned> {
  readonly status: "received";
  /** Its content, decoded and checked. Undefined for an update without content. */
  readonly value: Input;
  /** Its id, chosen by the sender. */
  readonly updateId: string;
  /** Who sent it, as the connection proved. */
  readonly from: string;
  /**
   * Accepts it: the sender gets the result.
   *
   * @throws PawlError `PAWL_UPDATE_ANSWERED` when this execution has answered it already; or the attempt's end.
   */
  accept(...result: [Returned] extends [undefined] ? [] : [result: Returned]): Promise<void>;
  /**
   * Refuses it: the sender gets the reason.
   *
   * @param reason For the sender. 1 to 1,000 bytes; a longer one is cut.
   */
  refuse(reason: string): Promise<void>;
}

/** None came within the timeout. */
export interface UpdateTimedOut {
  readonly status: "timed-out";
}

/** How an update is waited for. */
export interface UpdateWaitOptions {
  /** Tells the turns of a loop apart. 1 to 180 bytes. Absent: none. */
  readonly key?: string;
}

/** How an update is waited for that may not come. */
export interface UpdateTimeoutOptions extends UpdateWaitOptions {
  /** How long to wait. What is recorded first counts. It counts anew after an update that the schema refused. */
  readonly timeout: Duration;
}

/** How an update is sent. */
export interface UpdateOptions extends WaitOptions {
  /** Its id: the same again is attached to, and gets the same answer. Give your own to send again from another process. Absent: a UUID. 1 to 200 bytes. */
  readonly updateId?: string;
  /** Version the run must have. Absent: any. */
  readonly expectedVersion?: number;
}

/** What an update takes as arguments. */
export type UpdateArguments<Sent> = [Sent] extends [undefined]
  ? [payload?: undefined, options?: UpdateOptions]
  : [payload: NoInfer<Sent>, options?: UpdateOptions];
