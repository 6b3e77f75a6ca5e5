import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { taskNumber } from "../core/plan/tasks-of-run.js";
import { findForWork } from "./find-for-work.js";
import type { SessionHello, SessionListener, WorkerSession } from "./kernel-api.js";
import type { Lease } from "./lease-table.js";
import type { Loop } from "./loop.js";
import { Session } from "./session.js";
import { queueKeysOf, servesAnyOf } from "./session-queues.js";

/** The worker sessions that are connected or hold leases. */
export class Sessions {
  readonly #loop: Loop;
  readonly #current: (namespace: string, workflow: string) => number;
  readonly #sessions = new Map<string, Session>();
  /** The same by id alone, which is how a lease names its session; ids are unique within a namespace only. */
  readonly #byId = new Map<string, Set<Session>>();

  /** @param current the version of a workflow that is current; 0, the default: none is. */
  constructor(loop: Loop, current: (namespace: string, workflow: string) => number = () => 0) {
    this.#loop = loop;
    this.#current = current;
    loop.work.onRestored = (lease) => this.#restored(lease);
  }

  /** Sessions that are connected or hold leases. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Sessions that are connected. */
  get connected(): number {
    let count = 0;
    for (const session of this.#sessions.values()) {
      count += session.listener === undefined ? 0 : 1;
    }
    return count;
  }

  /**
   * Connects a session, or the same one again: an older connection of it is forgotten. Leases of the session that it does not hold
   * any more are taken back at once; those that it holds keep their handles.
   */
  async connect(hello: SessionHello, listener: SessionListener): Promise<WorkerSession> {
    const session = this.#sessionOf(hello);
    const older = session.connecting ?? session.listener;
    this.#loop.work.dispatcher.leave(session);
    session.connecting = listener;
    session.listener = undefined;
    session.credits = 0;
    session.isDraining = false;
    session.hasRoom = true;
    older?.superseded();
    const found = await this.#findHolds(session, hello, listener);
    if (session.connecting !== listener) {
      // It has connected once more while the runs of its leases were read: this connection is the older one.
      return this.#connection(session, listener, []);
    }
    session.connecting = undefined;
    // In one go: a lease that is found from here on is judged by its session, which is connected.
    const lostHandles = this.#adopt(session, found);
    session.listener = listener;
    session.worker = hello.worker;
    session.serves = hello.serves;
    session.queueKeys = queueKeysOf(session, this.#current);
    this.#tellEnded(session, listener);
    this.#loop.work.dispatcher.join(session);
    this.#loop.schedule();
    return this.#connection(session, listener, lostHandles);
  }

  /** Another version of a workflow is current from now on: who serves it gets what follows, and nobody else. */
  serveAnew(namespace: string, workflow: string): void {
    const { dispatcher } = this.#loop.work;
    for (const session of this.#sessions.values()) {
      const isConnected = session.listener !== undefined && session.namespace === namespace;
      if (isConnected && servesAnyOf(session, workflow)) {
        dispatcher.move(session, queueKeysOf(session, this.#current));
      }
    }
    this.#loop.schedule();
  }

  /** What ended for its leases while it was away, and which of them were asked to stop. Their runs have just been found. */
  #tellEnded(session: Session, listener: SessionListener): void {
    for (const lease of session.leases.values()) {
      const found = this.#loop.residency.find(lease.runNumber);
      if (found !== undefined && !(found instanceof Promise)) {
        this.#loop.register(listener);
        listener.ended(lease, found.run);
        this.#loop.work.tellStop(found.run, lease, listener);
      }
    }
  }

  #sessionOf(hello: SessionHello): Session {
    const name = `${hello.namespace}\0${hello.sessionId}`;
    let session = this.#sessions.get(name);
    if (session === undefined) {
      const made = new Session(hello.sessionId, hello.namespace, hello.worker);
      made.onForgotten = () => this.#forget(name, made);
      this.#sessions.set(name, made);
      this.#byId.set(made.id, (this.#byId.get(made.id) ?? new Set()).add(made));
      session = made;
    }
    return session;
  }

  #forget(name: string, session: Session): void {
    this.#sessions.delete(name);
    const namesakes = this.#byId.get(session.id);
    if (namesakes?.delete(session) === true && namesakes.size === 0) {
      this.#byId.delete(session.id);
    }
  }

  /** Matches what the worker holds with the table of leases. */
  async #findHolds(
    session: Session,
    hello: SessionHello,
    listener: SessionListener,
  ): Promise<Map<number, Lease | undefined>> {
    const found = new Map<number, Lease | undefined>();
    try {
      for (const hold of hello.holds) {
        const lease = await this.#findHeld(hello, hold);
        found.set(hold.handle, lease);
        if (lease !== undefined) {
          this.#loop.work.leases.renew(lease);
        }
      }
    } catch (error) {
      if (session.connecting === listener) {
        session.connecting = undefined;
        session.forgetWhenIdle();
      }
      throw error;
    }
    return found;
  }

  /** Gives a session what it still holds, under its worker's handles; the answer is what it no longer holds. */
  #adopt(session: Session, found: ReadonlyMap<number, Lease | undefined>): number[] {
    const { leases } = this.#loop.work;
    const lostHandles: number[] = [];
    const held = new Set<Lease>();
    const before = [...session.leases.values(), ...leases.restoredOf(session.id)];
    session.leases.clear();
    for (const [handle, lease] of found) {
      // It may have ended while the runs of others were read.
      if (lease !== undefined && leases.find(lease.runNumber, lease.task) === lease) {
        held.add(lease);
        session.adopt(lease, handle);
      } else {
        lostHandles.push(handle);
        session.reserve(handle);
      }
    }
    this.#takeBack(
      session,
      before.filter((lease) => !held.has(lease)),
    );
    return lostHandles;
  }

  /** Ends leases that their session did not name. */
  #takeBack(session: Session, unnamed: readonly Lease[]): void {
    const { leases } = this.#loop.work;
    for (const lease of unnamed) {
      const isOpen = leases.find(lease.runNumber, lease.task) === lease;
      const isOfNamesake = lease.session !== undefined && lease.session !== session;
      if (isOpen && !isOfNamesake) {
        lease.session = undefined;
        this.#takeBackIfOf(session.namespace, lease);
      }
    }
  }

  /** Ends a lease that no session has claimed. What namespace it is of, only its run knows: another's session may have the same id. */
  #takeBackIfOf(namespace: string, lease: Lease): void {
    const { work } = this.#loop;
    const isOpen = work.leases.find(lease.runNumber, lease.task) === lease;
    if (!isOpen || lease.session !== undefined) {
      return;
    }
    const found = findForWork(this.#loop, lease.runNumber);
    if (found instanceof Promise) {
      void found.then(() => this.#takeBackIfOf(namespace, lease));
    } else if (found?.run.namespace === namespace) {
      work.endLease(lease, LeaseEndReason.NOT_HELD);
    }
  }

  /** A start found a lease whose session was quicker: it is back, and has not named it, since what it names is looked for at once. */
  #restored(lease: Lease): void {
    for (const { listener, namespace } of this.#byId.get(lease.sessionId) ?? []) {
      if (listener !== undefined) {
        // Not amid the reading of its run.
        queueMicrotask(() => this.#takeBackIfOf(namespace, lease));
      }
    }
  }

  async #findHeld(
    hello: SessionHello,
    hold: SessionHello["holds"][number],
  ): Promise<Lease | undefined> {
    for (;;) {
      const found = this.#loop.residency.findRun(hello.namespace, hold.runId);
      if (found instanceof Promise) {
        await found;
        continue;
      }
      const task = found && taskNumber(found.run, hold.task);
      if (found === undefined || task === undefined) {
        return undefined;
      }
      const lease = this.#loop.work.leases.find(found.number, task);
      const isHeld =
        lease?.leaseVersion === hold.leaseVersion && lease.sessionId === hello.sessionId;
      return isHeld ? lease : undefined;
    }
  }

  #connection(
    session: Session,
    listener: SessionListener,
    lostHandles: readonly number[],
  ): WorkerSession {
    const loop = this.#loop;
    const isCurrent = (): boolean => session.listener === listener;
    const leaseOf = (handle: number): Lease | undefined =>
      isCurrent() ? session.leases.get(handle) : undefined;
    const offerMore = (): void => {
      if (session.canTake) {
        loop.work.dispatcher.credited(session);
        loop.schedule();
      }
    };
    return {
      sessionId: session.id,
      lostHandles,
      addCredits: (count) => {
        if (isCurrent()) {
          session.credits += count;
          offerMore();
        }
      },
      setRoom: (hasRoom) => {
        if (isCurrent() && session.hasRoom !== hasRoom) {
          session.hasRoom = hasRoom;
          offerMore();
        }
      },
      lease: (handle) => {
        const lease = leaseOf(handle);
        if (lease !== undefined) {
          loop.work.leases.acknowledge(lease);
        }
        return lease;
      },
      acknowledge: (handle) => {
        const lease = leaseOf(handle);
        if (lease !== undefined) {
          loop.work.leases.acknowledge(lease);
        }
      },
      renew: (handle) => {
        const lease = leaseOf(handle);
        if (lease !== undefined) {
          loop.work.leases.renew(lease);
        }
        return lease !== undefined;
      },
      progress: (handle, progress) => {
        const lease = leaseOf(handle);
        if (lease !== undefined) {
          lease.progress = progress.slice(); // Else it would keep the message that it came in.
          loop.work.leases.renew(lease);
        }
        return lease !== undefined;
      },
      emit: (handle, leaseVersion, chunk) => {
        const lease = leaseOf(handle);
        if (lease?.leaseVersion === leaseVersion) {
          loop.work.leases.renew(lease);
          loop.work.output.emit(lease, chunk);
        }
      },
      drain: () => {
        session.isDraining = true;
      },
      disconnect: () => this.#disconnect(session, listener),
    };
  }

  #disconnect(session: Session, listener: SessionListener): void {
    if (session.listener !== listener) {
      return; // The session has connected again since.
    }
    session.listener = undefined;
    session.credits = 0;
    this.#loop.work.dispatcher.leave(session);
    session.forgetWhenIdle();
  }
}
