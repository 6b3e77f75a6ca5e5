import { AsyncLocalStorage } from "node:async_hooks";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import { AttemptEnded } from "../abort-reasons.js";
import { messageOf } from "./failure.js";

/** Whose code it is that runs now. */
type Owner = Pick<Offer, "runId" | "task">;

const owners = new AsyncLocalStorage<Owner>();

let watchers = 0;

/** Runs the code of a function: what it leaves rejected is known to be of it. */
export function inFunction<T>({ runId, task }: Owner, run: () => T): T {
  return owners.run({ runId, task }, run);
}

/**
 * Keeps the process alive when a promise of a function is rejected before anybody awaits it, as of one of two branches while the other is awaited: it serves other runs as well. The code
 * hears of it when it awaits the promise. Whatever is not of a function ends the process as it does without this, unless somebody else listens.
 *
 * @returns What ends it.
 */
export function watchLooseRejections(): () => void {
  if (watchers++ === 0) process.on("unhandledRejection", heed);
  return () => {
    if (--watchers === 0) process.off("unhandledRejection", heed);
  };
}

function heed(reason: unknown): void {
  const owner = owners.getStore();
  if (owner === undefined) {
    // Why an attempt ends is told by its end.
    if (isAttemptEnd(reason)) return;
    if (process.listenerCount("unhandledRejection") === 1) throw reason;
    return;
  }
  process.emitWarning(
    `A promise of task "${owner.task}" of run "${owner.runId}" was rejected before anybody awaited it: ${messageOf(reason)}. Await it, or what becomes of it is not seen.`,
    { type: "PawlWarning", code: "PAWL_REJECTION_NOT_AWAITED" },
  );
}

function isAttemptEnd(reason: unknown): boolean {
  try {
    return reason instanceof AttemptEnded;
  } catch {
    return false; // It cannot be asked what it is.
  }
}
