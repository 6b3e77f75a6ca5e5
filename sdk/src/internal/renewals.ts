import type { RenewedLease } from "@pawl/proto/v1/worker_service_pb.js";
import type { Lease } from "./lease.js";
import { isAttemptOver } from "./rejection.js";
import { monotonicMs, startTimer, type Timer } from "./time.js";

/** Most leases in one unary renewal. */
const BATCH_MAX = 1_000;

/** While the stream is away, leases are looked at this often, in ms. */
const RETRY_MS = 500;

/** What the renewing of leases asks of its worker. */
export interface RenewalsOwner {
  readonly leases: Iterable<Lease>;
  /** Sends a renewal on the stream; false when there is none. */
  renew(lease: Lease): boolean;
  /** Renews by a unary call. Undefined when the kernel is away too. */
  renewUnary(leases: readonly Lease[]): Promise<RenewedLease[] | undefined>;
  /** A renewal was refused since the lease is gone. */
  lost(lease: Lease): void;
  /** Cancellation was asked for, which the lost stream could not tell. */
  cancelRequested(lease: Lease): void;
}

/** Renews every lease at a third of its length, on the stream, or by a unary call while the stream is away. */
export class Renewals {
  readonly #owner: RenewalsOwner;
  #timer: Timer | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #isStopped = false;

  constructor(owner: RenewalsOwner) {
    this.#owner = owner;
  }

  /** A lease was taken: it may be the next that is due. */
  added(lease: Lease): void {
    this.#arm(lease.renewAtMs);
  }

  /** Renews no more. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #arm(atMs: number): void {
    if (this.#isStopped || atMs >= this.#dueAtMs) {
      return;
    }
    this.#timer?.cancel();
    this.#dueAtMs = atMs;
    this.#timer = startTimer(atMs - monotonicMs(), () => {
      this.#dueAtMs = Number.POSITIVE_INFINITY;
      this.#sweep();
    });
  }

  #sweep(): void {
    const nowMs = monotonicMs();
    const byUnary: Lease[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const lease of this.#owner.leases) {
      const isDue = lease.renewAtMs <= nowMs;
      if (isDue && !this.#owner.renew(lease)) {
        byUnary.push(lease);
        continue;
      }
      nextMs = Math.min(nextMs, isDue ? nowMs + lease.leaseMs / 3 : lease.renewAtMs);
    }
    if (byUnary.length > 0) {
      nextMs = Math.min(nextMs, nowMs + RETRY_MS);
      void this.#byUnary(byUnary.slice(0, BATCH_MAX));
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#arm(nextMs);
  }

  async #byUnary(leases: readonly Lease[]): Promise<void> {
    const results = await this.#owner.renewUnary(leases);
    if (results === undefined || this.#isStopped) {
      return;
    }
    leases.forEach((lease, place) => {
      const result = results[place];
      // Any other refusal says nothing of the lease: the kernel may be ill, and is asked again.
      if (result?.rejection !== undefined && isAttemptOver(result.rejection)) {
        this.#owner.lost(lease);
      }
      if (result?.cancelRequested === true) this.#owner.cancelRequested(lease);
    });
  }
}
