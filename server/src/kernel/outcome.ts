import { deletedRun } from "../core/decide/deletion-refusals.js";
import type { Reply } from "../core/decision.js";
import { notFound, type Rejection } from "../core/rejection.js";
import type { Run } from "../core/state.js";
import { damageIn } from "../log/store-errors.js";

/** What a command came to. `run` is the pending state right after it: read from it at once, never later. `runNumber` names it in further calls. */
export type Outcome =
  | {
      readonly accepted: true;
      readonly reply: Reply;
      readonly run: Run;
      readonly runNumber: number;
    }
  | { readonly accepted: false; readonly rejection: Rejection };

/** Which aggregate a command or a read is for. */
export type Target =
  /** A run by its id. */
  | { readonly kind: "run"; readonly namespace: string; readonly runId: string }
  /** A run or ledger by its number. */
  | {
      readonly kind: "number";
      readonly number: number;
      /** Set where a caller named the number: one of another namespace is not there for it. */
      readonly namespace?: string;
    }
  /** An operation of scope NAMESPACE by its key. */
  | { readonly kind: "ledger"; readonly namespace: string; readonly operationKey: string };

/**
 * Who is told what commands came to. `outcome` is called when the command was decided, which is before it is durable: the
 * receiver computes its answer from it at once, and holds the answer back until the kernel calls `release`.
 */
export interface Receiver {
  /** @param tag what the caller gave with the command. */
  outcome(tag: number, outcome: Outcome): void;
  /** Called while the segment is being synced: encode what is to be sent now, so that it costs no time afterwards. */
  prepare(): void;
  /** Called once everything reported by `outcome` since the last release is durable: send it. `position` names that point. */
  release(position: Uint8Array): void;
  /** Its own `prepare` or `release` threw: what it held back is lost, so it ends what it serves. Others are not affected. */
  fault(error: unknown): void;
}

/** Whom to give an outcome. */
export interface ReplyTo {
  readonly receiver: Receiver;
  /** Which of the receiver's commands it is the outcome of. */
  readonly tag: number;
}

/** A refusal as an error, for the promise-based calls. */
export class RejectionError extends Error {
  readonly code: string;
  readonly rejection: Rejection;
  constructor(rejection: Rejection) {
    super(rejection.message);
    this.name = "RejectionError";
    this.code = rejection.reason;
    this.rejection = rejection;
  }
}

/** Refusal of a target that is not there. */
export function targetNotFound(target: Target): Rejection {
  switch (target.kind) {
    case "run":
      return notFound("run", target.runId);
    case "ledger":
      return notFound("operation", target.operationKey);
    case "number":
      return notFound("run", `${target.number}`);
  }
}

/** Refusal of a run that is deleted. */
export function refuseDeleted(run: Run): Rejection {
  return deletedRun(
    run,
    run.deletion ?? { atMs: 0, tombstoneUntilMs: 0, reason: "", principal: "" },
  );
}

/** Refusal of what is stored and not as it was written, when that is what an error says; undefined for any other. */
export function damaged(error: unknown): Rejection | undefined {
  const damage = damageIn(error);
  if (damage === undefined) {
    return undefined;
  }
  const message = `Expected the stored run to be as it was written, but it is damaged: ${damage.message}. Nothing of it is served. Next: run pawl verify.`;
  return { reason: "PAWL_STORE_DAMAGED", message };
}

/** Refusal of what lasts, while the kernel goes away. */
export const goingAway: Rejection = {
  reason: "PAWL_UNAVAILABLE",
  message:
    "Expected a kernel that takes requests, but it is going away. Next: send the same request again.",
  retryAfterMs: 1000,
};

/** Refusal while the kernel is not able to answer. */
export function unavailable(cause: Error): Rejection {
  return {
    reason: "PAWL_UNAVAILABLE",
    message: `Expected a kernel that can write, but it has stopped: ${cause.message} Next: send the same request again once it has restarted.`,
    retryAfterMs: 1000,
  };
}
