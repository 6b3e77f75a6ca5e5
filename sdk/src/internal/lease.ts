import type { HeldLease, LeaseRef, Offer } from "@pawl/proto/v1/worker_service_pb.js";
import { monotonicMs } from "./time.js";

/** A worker's hold on a task, as the worker knows it. The kernel alone decides; this is a careful reading of it. */
export class Lease {
  /** Names it on the stream. */
  readonly handle: number;
  readonly runId: string;
  readonly task: string;
  readonly leaseVersion: number;
  /** How long it lasts without a renewal. */
  readonly leaseMs: number;
  /** Up to which event of its run outcomes have come. */
  seenThrough: number;
  /** True once it is known to be over. */
  isOver = false;
  /** Called before anything that is recorded leaves under it. */
  onSend: (() => void) | undefined;
  #renewedAtMs: number = monotonicMs();

  constructor(offer: Offer) {
    this.handle = offer.handle;
    this.runId = offer.runId;
    this.task = offer.task;
    this.leaseVersion = offer.leaseVersion;
    this.leaseMs = offer.leaseMs;
    this.seenThrough = offer.seenThrough;
  }

  /** A renewal, or what counts as one, was sent at this moment. */
  renewed(atMs: number): void {
    this.#renewedAtMs = Math.max(this.#renewedAtMs, atMs);
  }

  /** When the next renewal should be sent: at a third of the lease. */
  get renewAtMs(): number {
    return this.#renewedAtMs + this.leaseMs / 3;
  }

  /** True when, as far as the worker can tell, the kernel may have given the task to another. */
  isExpired(nowMs: number): boolean {
    return nowMs >= this.#renewedAtMs + this.leaseMs;
  }

  /** Names it in unary calls. */
  get ref(): Pick<LeaseRef, "runId" | "task" | "leaseVersion"> {
    return { runId: this.runId, task: this.task, leaseVersion: this.leaseVersion };
  }

  /** Names it in `Hello`. */
  get held(): Pick<HeldLease, "handle" | "runId" | "task" | "leaseVersion" | "seenThrough"> {
    return { handle: this.handle, ...this.ref, seenThrough: this.seenThrough };
  }
}
