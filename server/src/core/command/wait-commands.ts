/** Commands about waits, and about what is waited for. */

import type { ObligationSourceShape } from "@pawl/proto/log/v1/event_wire.js";
import type { TaskRef } from "./task-commands.js";

/** What a task may wait for. Times are counted from the decision. */
export type WaitSubject =
  /** So many ms, or until a point in time (ms since the Unix epoch). */
  | {
      readonly case: "timer";
      readonly due: { readonly afterMs: number } | { readonly atMs: number };
    }
  /** The decision about a proposal of the run, by its number. */
  | { readonly case: "proposal"; readonly ofRun: number; readonly proposal: number }
  /** The answer of another run to what it was sent, by the number of the obligation. */
  | { readonly case: "obligation"; readonly obligation: number }
  /** The end of a child, by the number of the obligation that started it. */
  | { readonly case: "child"; readonly obligation: number }
  /** The decision about an operation in doubt, by the number of its review and the incarnation that this is of. */
  | { readonly case: "review"; readonly review: number; readonly incarnation: number }
  | SignalToWaitFor
  | UpdateToWaitFor
  | InputToAskFor;

/** A signal, for so long. */
interface SignalToWaitFor {
  readonly case: "signal";
  readonly signal: string;
  readonly timeoutMs: number | undefined;
}

/** An update, for so long. */
interface UpdateToWaitFor {
  readonly case: "update";
  readonly update: string;
  readonly timeoutMs: number | undefined;
}

/** An answer, for so long. */
interface InputToAskFor {
  readonly case: "input";
  readonly question: string;
  readonly addressee: string;
  readonly schema: string;
  readonly expiresInMs: number | undefined;
  readonly fingerprint: Uint8Array;
}

/** One thing that a task waits for. */
export interface WaitFor {
  readonly name: string;
  readonly key: string | undefined;
  readonly subject: WaitSubject;
}

/** Gives a task back until something it waits for is there. */
export interface SuspendTask {
  readonly kind: "SuspendTask";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly seenThrough: number;
  /** All that is waited for, each identity once. */
  readonly waits: readonly WaitFor[];
  readonly progress: Uint8Array | undefined;
  /** The worker keeps the code in memory. Nothing is decided by it; the kernel remembers it beside the state. */
  readonly keepsWarm?: boolean;
}

/** Begins waits while the lease stays. */
export interface DeclareWaits {
  readonly kind: "DeclareWaits";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  /** Each identity once. */
  readonly waits: readonly WaitFor[];
}

/** Sends a signal into a run, or an update. */
export interface SendSignal {
  readonly kind: "SendSignal";
  /** True for an update: its sender waits for an answer. Its `requestId` is then the id of the update. Absent: a signal. */
  readonly isUpdate?: boolean;
  readonly name: string;
  readonly payload: Uint8Array | undefined;
  /** Empty when a run sends it. */
  readonly requestId: string;
  readonly expectedVersion: number | undefined;
  /** The obligation of the run that sends it; absent: no run does. */
  readonly from?: ObligationSourceShape | undefined;
}

/** Answers or declines an input request. */
export interface ProvideInput {
  readonly kind: "ProvideInput";
  /** Incarnation of the run that the request is of. */
  readonly incarnation: number;
  readonly input: number;
  readonly expectedVersion: number;
  readonly answer:
    | { readonly case: "given"; readonly value: Uint8Array }
    | { readonly case: "declined"; readonly value: string };
}
