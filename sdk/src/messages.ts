import type { Duration } from "./duration.js";
import type { Schema } from "./schema.js";

/** What came of waiting for a signal. */
export type SignalReceived<T> =
  | {
      readonly status: "received";
      /** Its content, decoded, and checked by the schema if there is one. Undefined for a signal without content. */
      readonly value: T;
      /** Who sent it, as the connection proved. */
      readonly from: string;
    }
  /** None came within the timeout. */
  | { readonly status: "timed-out" };

/** How a signal is waited for. */
export interface SignalWaitOptions<T = unknown> {
  /** Tells the turns of a loop apart. 1 to 200 bytes. Absent: none. */
  readonly key?: string;
  /** How long to wait. Absent: for ever. What is recorded first counts. */
  readonly timeout?: Duration;
  /** Checks the content, and may transform it. A content that it refuses is thrown: it is taken all the same. */
  readonly schema?: Schema<unknown, T>;
}

/** What came of asking. */
export type Answer<T> =
  | {
      readonly status: "answered";
      /** The answer, decoded, and checked by `as` if there is one. */
      readonly value: T;
      /** Who answered, as the connection proved. */
      readonly by: string;
    }
  /** Somebody declined to answer. */
  | { readonly status: "declined"; readonly reason: string; readonly by: string }
  /** Nobody answered in time. */
  | { readonly status: "expired" };

/** What is asked. */
export interface AskOptions<T = unknown> {
  /** For people. 1 to 4,000 bytes. */
  readonly question: string;
  /** Who should answer, for example `role:finance`. Default: anybody. At most 200 bytes. */
  readonly addressee?: string;
  /** JSON Schema (draft 2020-12) of the answer: the kernel refuses another one at its door. At most 16 KiB. Default: any answer will do. */
  readonly schema?: Readonly<Record<string, unknown>> | boolean;
  /** Gives the answer its type, and may transform it. */
  readonly as?: Schema<unknown, T>;
  /** How long it may be answered. Absent: for ever. */
  readonly expiresIn?: Duration;
  /** Tells the turns of a loop apart. 1 to 200 bytes. Absent: none. */
  readonly key?: string;
}

/** How a signal is sent. */
export interface SignalOptions {
  /** Id of the request: the same again changes nothing. Give your own to send again from another process. Absent: a UUID. 1 to 200 bytes. */
  readonly requestId?: string;
  /** Version the run must have. Absent: any. */
  readonly expectedVersion?: number;
}

/** A signal that comes with a start. */
export interface StartSignalOptions {
  /** Name of the signal. */
  readonly name: string;
  /** Its content: JSON. Absent: none. */
  readonly payload?: unknown;
  /** Id of the request. Absent: a UUID, made before anything is sent. */
  readonly requestId?: string;
}

/** Answer to a signal. */
export interface SignalAnswer {
  /** True when it had come before: nothing was changed. */
  readonly existing: boolean;
  /** Version of the run. */
  readonly version: number;
}
