import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { limits } from "../core/limits.js";
import { DeadlineQueue, type Due } from "./deadline-queue.js";
import type { TaskOutput } from "./output/task-output.js";
import type { Timers } from "./ports.js";
import type { Session } from "./session.js";

/** What a lease is, besides its times. */
export interface LeaseParts {
  readonly runNumber: number;
  readonly task: number;
  readonly leaseVersion: number;
  readonly leaseMs: number;
  readonly sessionId: string;
}

/** An open lease. Deadlines live here, outside the state: a lease ends only by an event, and renewals are memory only. */
export class Lease implements Due {
  readonly runNumber: number;
  readonly task: number;
  readonly leaseVersion: number;
  readonly leaseMs: number;
  readonly sessionId: string;
  /** The session when it is known in this process. */
  session: Session | undefined = undefined;
  handle = 0;
  isAcknowledged: boolean;
  /** End of the lease without a renewal. */
  endsMs: number;
  dueMs: number;
  queuedIn = 0;
  /** Last progress, until the task's next event. */
  progress: Uint8Array | undefined = undefined;
  /** The worker keeps the code warm when it gives the task back, having been given outcomes up to this event; undefined until it says so. */
  keepsWarmThrough: number | undefined = undefined;
  /** Up to which event the copy that the worker had warm before has been given outcomes; undefined: it had none. */
  warmThrough: number | undefined = undefined;
  /** Its live output; undefined until it emits. */
  output: TaskOutput | undefined = undefined;

  constructor(parts: LeaseParts, endsMs: number, acknowledgeByMs: number | undefined) {
    this.runNumber = parts.runNumber;
    this.task = parts.task;
    this.leaseVersion = parts.leaseVersion;
    this.leaseMs = parts.leaseMs;
    this.sessionId = parts.sessionId;
    this.isAcknowledged = acknowledgeByMs === undefined;
    this.endsMs = endsMs;
    this.dueMs = acknowledgeByMs ?? endsMs;
  }
}

/** More tasks than a run may have: run and task make one number. */
export const tasksPerRun: number = 65_536;

/** All open leases, by task. */
export class LeaseTable {
  readonly #leases = new Map<number, Lease>();
  readonly #deadlines: DeadlineQueue<Lease>;
  /** Leases that a start found, by the id of their session: it may come back and not name them. Those given since are the session's own. */
  readonly #restored = new Map<string, Set<Lease>>();
  readonly #now: () => number;

  /** @param end asked to end a lease that is over; it may be refused by the state, which is fine. */
  constructor(
    timers: Timers,
    now: () => number,
    end: (lease: Lease, reason: LeaseEndReason) => void,
  ) {
    this.#now = now;
    this.#deadlines = new DeadlineQueue(timers, now, (lease) => this.#due(lease, end));
  }

  get size(): number {
    return this.#leases.size;
  }

  /** When leases are looked at next; undefined when there is none. */
  get nextMs(): number | undefined {
    return this.#deadlines.nextMs;
  }

  find(run: number, task: number): Lease | undefined {
    return this.#leases.get(run * tasksPerRun + task);
  }

  /** Adds a lease that a worker was given now, to be acknowledged soon. */
  grant(parts: LeaseParts, session: Session, handle: number): Lease {
    const nowMs = this.#now();
    const acknowledgeByMs = nowMs + Math.min(limits.offerAckMs, parts.leaseMs);
    const lease = this.#insert(new Lease(parts, nowMs + parts.leaseMs, acknowledgeByMs));
    lease.session = session;
    lease.handle = handle;
    return lease;
  }

  /** Adds a lease found at start: it counts as acknowledged and gets at least 10 s from now. */
  restore(parts: LeaseParts): Lease {
    const endsMs = this.#now() + Math.max(parts.leaseMs, limits.restartLeaseMs);
    const lease = this.#insert(new Lease(parts, endsMs, undefined));
    const ofSession = this.#restored.get(lease.sessionId);
    if (ofSession === undefined) {
      this.#restored.set(lease.sessionId, new Set([lease]));
    } else {
      ofSession.add(lease);
    }
    return lease;
  }

  /** Open leases of a session that a start found. */
  restoredOf(sessionId: string): readonly Lease[] {
    return [...(this.#restored.get(sessionId) ?? [])];
  }

  #insert(lease: Lease): Lease {
    this.#leases.set(lease.runNumber * tasksPerRun + lease.task, lease);
    this.#deadlines.add(lease);
    return lease;
  }

  /** Renews; that is also an acknowledgement. */
  renew(lease: Lease): void {
    lease.isAcknowledged = true;
    lease.endsMs = this.#now() + lease.leaseMs;
    lease.dueMs = lease.endsMs;
  }

  /** Notes that the offer was taken. */
  acknowledge(lease: Lease): void {
    if (!lease.isAcknowledged) {
      lease.isAcknowledged = true;
      lease.dueMs = lease.endsMs;
    }
  }

  /** Removes a lease that has ended. */
  remove(run: number, task: number): Lease | undefined {
    const key = run * tasksPerRun + task;
    const lease = this.#leases.get(key);
    if (lease !== undefined) {
      this.#leases.delete(key);
      this.#deadlines.remove(lease);
      if (this.#restored.size > 0) {
        this.#forgetRestored(lease);
      }
    }
    return lease;
  }

  #forgetRestored(lease: Lease): void {
    const ofSession = this.#restored.get(lease.sessionId);
    if (ofSession?.delete(lease) === true && ofSession.size === 0) {
      this.#restored.delete(lease.sessionId);
    }
  }

  /** All leases, in no particular order. */
  values(): IterableIterator<Lease> {
    return this.#leases.values();
  }

  close(): void {
    this.#deadlines.close();
  }

  #due(lease: Lease, end: (lease: Lease, reason: LeaseEndReason) => void): void {
    if (this.find(lease.runNumber, lease.task) !== lease) {
      return;
    }
    const isOver = this.#now() >= lease.dueMs;
    if (isOver) {
      end(lease, lease.isAcknowledged ? LeaseEndReason.EXPIRED : LeaseEndReason.NOT_ACKNOWLEDGED);
    }
    if (this.find(lease.runNumber, lease.task) === lease) {
      // Renewed meanwhile, or its run is being read: look again.
      lease.dueMs = Math.max(lease.dueMs, this.#now() + 50);
      this.#deadlines.add(lease);
    }
  }
}
