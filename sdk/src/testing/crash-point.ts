import { isDeepStrictEqual } from "node:util";

/** What dies. `worker`: the process that runs the code. `kernel`: the process that keeps the records. `both`: the machine. */
export type CrashKill = "worker" | "kernel" | "both";

/** What code under test does that a crash can come before or after. */
export type CrashSubject =
  /** A step's record, or a read's. */
  | "step"
  /** The intent of an operation. After it is durable the sink may be called. */
  | "intent"
  /** The call of a sink: `before` it, with the intent recorded; `after` it, with nothing recorded of what it did. */
  | "sink"
  /** The record of how the call of a sink ended. */
  | "observation"
  /** The record of what a look-up found. */
  | "lookup"
  /** The proposal of an action that people must allow. */
  | "proposal"
  /** Tasks that are called. */
  | "call"
  /** Waits that begin while the code still does something. */
  | "wait"
  /** A signal or a cancellation for another run. */
  | "message"
  /** A child run that is started. */
  | "child"
  /** The task is given back at once, to be offered again. */
  | "release"
  /** The task is given back until what it waits for is there. */
  | "suspend"
  /** The end of a task: its output, or its failure. */
  | "completion";

/** A moment in the life of the code under test. */
export interface CrashPoint {
  /** Before what it names is durable; or after, and before the worker has heard of it. */
  readonly when: "before" | "after";
  readonly what: CrashSubject;
  /** Name of the step, operation, called task or wait. Default: any. */
  readonly name?: string;
  /** Name of the task that the code serves, such as `main`. Default: any. */
  readonly task?: string;
  /** Which of those that fit, from 1. Default 1. */
  readonly occurrence?: number;
}

/** A point with everything that tells it from others: one that a run has gone through. */
export type ExactPoint = Required<CrashPoint>;

/** A point as people read it. */
export function describePoint({ when, what, name, task, occurrence }: CrashPoint): string {
  const subject = name === undefined || name === "" ? what : `${what} "${name}"`;
  const where = task === undefined ? "" : ` of task "${task}"`;
  const which = occurrence === undefined || occurrence === 1 ? "" : ` (number ${occurrence})`;
  return `${when} ${subject}${where}${which}`;
}

/** A moment that is reached, without its number. */
export type Moment = Omit<ExactPoint, "occurrence">;

/** Says which of the moments that are reached is the one. */
export class PointWatch {
  readonly #wanted: CrashPoint;
  #left: number;

  constructor(point: CrashPoint) {
    this.#wanted = point;
    this.#left = point.occurrence ?? 1;
  }

  /** True exactly once, when the point is reached. */
  isReached(moment: Moment): boolean {
    const { when, what, name, task } = this.#wanted;
    const fits =
      moment.when === when &&
      moment.what === what &&
      (name === undefined || moment.name === name) &&
      (task === undefined || moment.task === task);
    if (fits) this.#left--;
    return fits && this.#left === 0;
  }
}

/** Numbers moments that are alike. */
export class PointList {
  readonly points: ExactPoint[] = [];

  /** Notes a moment. */
  add(moment: Moment): void {
    const alike = this.points.filter(({ occurrence: _, ...other }) =>
      isDeepStrictEqual(other, moment),
    );
    this.points.push({ ...moment, occurrence: alike.length + 1 });
  }
}
