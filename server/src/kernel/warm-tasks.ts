import { tasksPerRun } from "./lease-table.js";
import type { Session } from "./session.js";

/** Tasks that sessions keep warm, at most: of more, those that were given back the longest ago are read cold. */
export const warmTasksMax: number = 65_536;

/** A worker's copy of a task that it gave back. */
export interface WarmTask {
  /** The session that has it. */
  readonly session: Session;
  /** Lease under which it was given back: the copy is of no use after another one. */
  readonly leaseVersion: number;
  /** Execution under the run id that it belongs to. */
  readonly incarnation: number;
  /** Generation of the run in which the task was opened that it is of. */
  readonly generation: number;
  /** Up to which event of its run the code has been given outcomes. */
  readonly seenThrough: number;
}

/** Which session keeps which task warm. Memory only: a wrong or forgotten entry costs its worker a reading of the records, nothing else. */
export class WarmTasks {
  readonly #tasks = new Map<number, WarmTask>();
  readonly #ofSession = new Map<Session, Set<number>>();
  readonly #max: number;

  /** @param max How many are kept in mind. Default `warmTasksMax`. */
  constructor(max: number = warmTasksMax) {
    this.#max = max;
  }

  get size(): number {
    return this.#tasks.size;
  }

  /** A session has given a task back and keeps it warm. */
  keep(runNumber: number, task: number, warm: WarmTask): void {
    const key = keyOf(runNumber, task);
    this.#drop(key);
    this.#tasks.set(key, warm);
    const ofSession = this.#ofSession.get(warm.session);
    if (ofSession === undefined) {
      this.#ofSession.set(warm.session, new Set([key]));
    } else {
      ofSession.add(key);
    }
    if (this.#tasks.size > this.#max) {
      const [oldest] = this.#tasks.keys();
      if (oldest !== undefined) {
        this.#drop(oldest);
      }
    }
  }

  /** Who keeps a task warm; it is forgotten with that, since the task is about to be leased. */
  take(runNumber: number, task: number): WarmTask | undefined {
    return this.#drop(keyOf(runNumber, task));
  }

  /** The task has ended, or its run begins anew. */
  forget(runNumber: number, task: number): void {
    this.#drop(keyOf(runNumber, task));
  }

  /** The session has ended. */
  leave(session: Session): void {
    for (const key of this.#ofSession.get(session) ?? []) {
      this.#tasks.delete(key);
    }
    this.#ofSession.delete(session);
  }

  #drop(key: number): WarmTask | undefined {
    const warm = this.#tasks.get(key);
    if (warm !== undefined) {
      this.#tasks.delete(key);
      const ofSession = this.#ofSession.get(warm.session);
      if (ofSession?.delete(key) === true && ofSession.size === 0) {
        this.#ofSession.delete(warm.session);
      }
    }
    return warm;
  }
}

function keyOf(runNumber: number, task: number): number {
  return runNumber * tasksPerRun + task;
}
