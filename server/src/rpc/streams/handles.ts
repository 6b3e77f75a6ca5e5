import type { HeldLeaseShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { TaskRef } from "../../core/command.js";
import type { Rejection } from "../../core/rejection.js";
import type { SessionLease } from "../../kernel/kernel-api.js";
import type { Target } from "../../kernel/outcome.js";

/** A lease as a stream names it. It stays known for a while after it has ended: a report may be sent again. */
export interface Handle {
  readonly handle: number;
  readonly target: Target;
  readonly task: TaskRef;
  readonly leaseVersion: number;
  isAcknowledged: boolean;
  hasEnded: boolean;
  /** Why its items are refused until the worker has seen that; see `Handles.refuse`. */
  refusal: Rejection | undefined;
  /** Number of the ping that goes out with the refusal; 0: it is not encoded yet. */
  refusalPing: number;
  /** Up to which event of its run the worker has been sent outcomes. */
  sentThrough: number;
  /** Items that wait until it is clear whether an earlier one is refused. */
  held: (() => void)[] | undefined;
}

/** Ended leases that are still remembered. */
const endedMax = 4096;

/** The leases of one Work stream, by their handles. */
export class Handles {
  readonly #handles = new Map<number, Handle>();
  /** The last that ended, in a ring. */
  readonly #ended: number[] = [];
  /** Where in the ring the one lies that ended first. */
  #oldest = 0;
  #refused: Handle[] = [];

  /** Remembers a lease that was just given out, with what ended for it up to an event. */
  offer({ handle, runNumber, task, leaseVersion }: SessionLease, seenThrough: number): void {
    const target: Target = { kind: "number", number: runNumber };
    const offered = newHandle({ handle, target, task, leaseVersion });
    offered.sentThrough = seenThrough;
    this.#handles.set(handle, offered);
  }

  /** Remembers a lease that the worker brought along, held or lost. */
  adopt(held: HeldLeaseShape, namespace: string): void {
    const { handle, runId, task, leaseVersion } = held;
    const target: Target = { kind: "run", namespace, runId };
    const adopted = newHandle({ handle, target, task, leaseVersion });
    adopted.isAcknowledged = true;
    adopted.sentThrough = held.seenThrough;
    this.#handles.set(handle, adopted);
  }

  get(handle: number): Handle | undefined {
    return this.#handles.get(handle);
  }

  /** The lease is over. It is forgotten only when many others have ended since. */
  end(handle: number): void {
    const entry = this.#handles.get(handle);
    if (entry === undefined || entry.hasEnded) {
      return;
    }
    entry.hasEnded = true;
    if (this.#ended.length < endedMax) {
      this.#ended.push(handle);
      return;
    }
    this.#handles.delete(this.#ended[this.#oldest] ?? 0);
    this.#ended[this.#oldest] = handle;
    this.#oldest = (this.#oldest + 1) % endedMax;
  }

  /**
   * Notes that an item of a lease was refused: later ones are refused with the same reason until the worker knows. The refusal goes
   * out together with a ping; whatever arrives with the pong or after it was sent by a worker that had read the refusal.
   * False when an earlier refusal stands already.
   */
  refuse(entry: Handle, rejection: Rejection): boolean {
    if (entry.refusal !== undefined) {
      return false;
    }
    entry.refusal = rejection;
    entry.refusalPing = 0;
    this.#refused.push(entry);
    return true;
  }

  /** The worker has read everything up to this ping. */
  pong(ping: number): void {
    if (this.#refused.length === 0) {
      return;
    }
    this.#refused = this.#refused.filter((entry) => {
      const isSeen = entry.refusalPing !== 0 && entry.refusalPing <= ping;
      if (isSeen) {
        entry.refusal = undefined;
      }
      return !isSeen;
    });
  }
}

function newHandle({
  handle,
  target,
  task,
  leaseVersion,
}: Pick<Handle, "handle" | "target" | "task" | "leaseVersion">): Handle {
  return {
    handle,
    target,
    task,
    leaseVersion,
    isAcknowledged: false,
    hasEnded: false,
    refusal: undefined,
    refusalPing: 0,
    sentThrough: 0,
    held: undefined,
  };
}
