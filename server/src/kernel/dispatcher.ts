import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { queuedKind } from "../core/plan/code-version.js";
import { plannedSpec } from "../core/plan/tasks-of-run.js";
import type { Run } from "../core/state.js";
import type { QueueGauge } from "../observe/meter.js";
import { ReadyQueue } from "./ready-queue.js";
import type { Resident } from "./resident.js";
import type { Session } from "./session.js";
import { type WarmTask, WarmTasks } from "./warm-tasks.js";

/**
 * Gives a ready task of a resident run to a session. False when the state refuses.
 * @param warmThrough up to which event the session's warm copy of the task has been given outcomes; undefined: it has none.
 */
export type LeaseOut = (
  resident: Resident,
  task: number,
  session: Session,
  warmThrough: number | undefined,
) => boolean;

/** The version of the code that a task is to be taken under now, when it follows the current one; 0: it does not, or none is. */
export type VersionOf = (run: Run, task: number) => number;

/** Finds a run: in memory, absent (also one that cannot be read), or to be asked for again once the promise resolves. */
export type FindRun = (number: number) => Resident | undefined | Promise<void>;

interface Queue {
  readonly key: string;
  readonly ready: ReadyQueue;
  /** Sessions that serve it; the first that can take is next, then goes last. */
  readonly sessions: Session[];
  isListed: boolean;
  /** Rises with each task given out of any queue. */
  lastServed: number;
}

/** Leases given out in one turn at most, so that a segment and its offers stay small. */
const leasesPerTurnMax = 2000;

/**
 * Matches ready tasks with credits. It stands outside the core and keeps nothing durable: every match becomes a LeaseTask command on
 * one run, in the segment of the turn that gathers.
 */
export class Dispatcher {
  /** Who keeps a task warm gets it first. */
  readonly warm: WarmTasks = new WarmTasks();
  readonly #queues = new Map<string, Queue>();
  /** Queues that may have both tasks and credit. */
  #open: Queue[] = [];
  readonly #find: FindRun;
  readonly #lease: LeaseOut;
  readonly #soon: () => void;
  readonly #versionOf: VersionOf;
  readonly #next = { run: 0, task: 0 };
  #served = 0;

  /**
   * @param soon asks for another turn.
   * @param versionOf the version that a task which follows is to be taken under now; 0 for any other.
   */
  constructor(find: FindRun, lease: LeaseOut, soon: () => void, versionOf: VersionOf) {
    this.#find = find;
    this.#lease = lease;
    this.#soon = soon;
    this.#versionOf = versionOf;
  }

  /** A task became READY. */
  push(runNumber: number, run: Run, task: number): void {
    const spec = plannedSpec(run, task);
    if (spec !== undefined) {
      const key = keyOf(run, task);
      this.pushNamed(key, runNumber, task, spec.priority);
      if (run.version > 1) {
        this.#queue(key).ready.noteDouble(); // It may have been paused, with this task in its queue.
      }
    }
  }

  /** A task known to be READY from its row alone. */
  pushNamed(key: string, runNumber: number, task: number, priority: number): void {
    const queue = this.#queue(key);
    queue.ready.push(runNumber, task, priority);
    this.#list(queue);
  }

  /** A session begins to serve its queues. */
  join(session: Session): void {
    for (const key of session.queueKeys) {
      const queue = this.#queue(key);
      if (!queue.sessions.includes(session)) {
        queue.sessions.push(session);
      }
      this.#list(queue);
    }
  }

  /** A session stops to serve. */
  leave(session: Session): void {
    this.warm.leave(session);
    this.#leaveQueues(session);
  }

  /** A session serves other queues from now on; what it keeps warm it keeps. */
  move(session: Session, queueKeys: readonly string[]): void {
    this.#leaveQueues(session);
    session.queueKeys = queueKeys;
    this.join(session);
  }

  #leaveQueues(session: Session): void {
    for (const key of session.queueKeys) {
      const queue = this.#queues.get(key);
      const index = queue?.sessions.indexOf(session) ?? -1;
      if (queue !== undefined && index >= 0) {
        queue.sessions.splice(index, 1);
        this.#dropEmpty(key, queue);
      }
    }
  }

  /** Names of queues are made by callers: one that holds nothing and is served by nobody is forgotten. */
  #dropEmpty(key: string, queue: Queue): void {
    if (queue.sessions.length === 0 && queue.ready.length === 0) {
      this.#queues.delete(key);
    }
  }

  /** A session has more credit. */
  credited(session: Session): void {
    for (const key of session.queueKeys) {
      const queue = this.#queues.get(key);
      if (queue !== undefined) {
        this.#list(queue);
      }
    }
  }

  /** Tasks that wait in a queue, and whether a session serves it; for *why* and metrics. */
  describe(key: string): { readonly ready: number; readonly sessions: number } {
    const queue = this.#queues.get(key);
    return { ready: queue?.ready.length ?? 0, sessions: queue?.sessions.length ?? 0 };
  }

  /** All queues, in no particular order; for metrics. */
  *queues(): IterableIterator<QueueGauge> {
    for (const [key, { ready, sessions }] of this.#queues) {
      const [namespace = "", queue = "", kind = ""] = key.split("\0");
      yield { namespace, queue, kind, ready: ready.length, sessions: sessions.length };
    }
  }

  /** Gives out what can be given out now. Called at the end of each turn. */
  match(): void {
    const open = this.#open;
    if (open.length === 0) {
      return;
    }
    this.#open = [];
    if (open.length > 1) {
      // Whoever serves several queues with few slots serves them in turn: one that is never empty must not starve the others.
      open.sort((one, other) => one.lastServed - other.lastServed);
    }
    let left = leasesPerTurnMax;
    for (const queue of open) {
      queue.isListed = false;
      left = this.#matchQueue(queue, left);
    }
  }

  #matchQueue(queue: Queue, budget: number): number {
    let left = budget;
    while (queue.ready.length > 0) {
      const session = takeSession(queue.sessions);
      if (session === undefined) {
        return left;
      }
      if (left === 0) {
        this.#list(queue);
        this.#soon();
        return 0;
      }
      if (this.#giveNext(queue, session)) {
        left--;
      }
    }
    return left;
  }

  /** Takes the next entry, for this session or whoever has it warm and can take it; true when it was leased. */
  #giveNext(queue: Queue, free: Session): boolean {
    const next = this.#next;
    if (!queue.ready.shift(next)) {
      return false;
    }
    const { run, task } = next;
    const found = this.#find(run);
    if (found instanceof Promise) {
      // It is read first; then it goes to the end of its queue.
      void found.then(() => this.#pushAgain(run, task));
      return false;
    }
    const state = found?.run.tasks[task];
    if (found === undefined || state?.status !== TaskStatus.READY) {
      return false;
    }
    const mayBeElsewhere = found.run.incarnation > 1 || found.run.revisions !== undefined;
    if (mayBeElsewhere && keyOf(found.run, task) !== queue.key) {
      return false; // It is from an earlier incarnation, or plan version, whose plan was another.
    }
    const warm =
      state.suspensions > 0 && this.warm.size > 0 ? this.#warmFor(queue, found, task) : undefined;
    const session = warm?.session ?? free;
    if (!this.#lease(found, task, session, warm?.seenThrough)) {
      return false;
    }
    session.credits--;
    queue.lastServed = ++this.#served;
    return true;
  }

  /** The copy that is of use: of the lease before, with a session that can take the task now. Nobody waits for one that cannot. */
  #warmFor(queue: Queue, { run, number }: Resident, task: number): WarmTask | undefined {
    const warm = this.warm.take(number, task);
    const isOfUse =
      warm?.leaseVersion === run.tasks[task]?.leaseVersion &&
      warm?.incarnation === run.incarnation &&
      warm?.generation === run.tasks[task]?.generation &&
      this.#isOfVersion(run, task) &&
      warm.session.canTake &&
      warm.session.queueKeys.includes(queue.key);
    return isOfUse ? warm : undefined;
  }

  /** A copy is of the code that ran last: of no use when another version is current since. */
  #isOfVersion(run: Run, task: number): boolean {
    return (
      run.codeVersion === undefined || run.tasks[task]?.codeVersion === this.#versionOf(run, task)
    );
  }

  #pushAgain(run: number, task: number): void {
    const found = this.#find(run);
    if (found !== undefined && !(found instanceof Promise)) {
      this.push(run, found.run, task);
      this.#soon();
    }
  }

  #queue(key: string): Queue {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { key, ready: new ReadyQueue(), sessions: [], isListed: false, lastServed: 0 };
      this.#queues.set(key, queue);
    }
    return queue;
  }

  #list(queue: Queue): void {
    if (!queue.isListed) {
      queue.isListed = true;
      this.#open.push(queue);
    }
  }
}

/** Name of the ready queue of a kind within a queue. Ids hold no NUL, so it is injective. */
export function queueKey(namespace: string, queue: string, kind: string): string {
  return `${namespace}\0${queue}\0${kind}`;
}

/** The ready queue that a task of a run is in. */
function keyOf(run: Run, task: number): string {
  const spec = plannedSpec(run, task);
  return spec === undefined ? "" : queueKey(run.namespace, spec.queue, queuedKind(run, spec));
}

/** The first session that can take a task; it goes last, so that sessions take turns. */
function takeSession(sessions: Session[]): Session | undefined {
  const index = sessions.findIndex((candidate) => candidate.canTake);
  const session = sessions[index];
  if (session !== undefined && index < sessions.length - 1) {
    sessions.splice(index, 1);
    sessions.push(session);
  }
  return session;
}
