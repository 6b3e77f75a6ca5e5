/**
 * Where a process kills itself when a crash test says so. A test hook: `pawl serve` reads it from the environment, and nothing else
 * builds one. Without it no store is wrapped and nothing is counted.
 *
 * - `PAWL_CRASH_AT=POINT` or `POINT:N`: the process ends by SIGKILL when it comes to that point for the N-th time (default: the first).
 * - `PAWL_CRASH_WHEN=FILE`: only what comes to the point while that file exists is counted. A test thus chooses the moment.
 */

import { existsSync, writeSync } from "node:fs";

/** Every boundary that the kernel's code can name: a durable write not yet begun or just over, and the steps of a start. */
export const CRASH_POINTS = [
  // A new store: its folder is marked, its first rows are written, its secret is written, its STORE file is written.
  "create:marked",
  "create:rows",
  "create:secret",
  "create:stored",
  // A start: the store is open, nothing is recovered; and recovered, nothing is served.
  "start:opened",
  "start:recovered",
  // The log: events decided and not written; written and nobody told.
  "segment:before",
  "segment:after",
  // A checkpoint: its batch not written; written, and the kernel does not know yet.
  "checkpoint:before",
  "checkpoint:after",
  // Content above the inline bound, written before the segment that names it.
  "blob:before",
  "blob:after",
  // Content that no event came to name is removed.
  "sweep:before",
  "sweep:after",
  // Rows of a deleted run are removed; then the row that says that there may be some.
  "purge:before",
  "purge:after",
  // Old segments are removed from the front of the log.
  "trim:before",
  "trim:after",
  // The room of removed rows is given back: not yet begun, 1 ms later, over.
  "compact:before",
  "compact:during",
  "compact:after",
  // A new epoch: nothing is written; its event is in the log and its rows are not; all is written.
  "epoch:before",
  "epoch:event",
  "epoch:after",
  // An orderly end: all is written, the store is not closed.
  "close:before",
] as const;

/** One of the boundaries above. */
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** Told of every boundary that the process comes to. */
export interface CrashPoints {
  hit(point: CrashPoint): void;
}

/** The environment of a process. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The setting cannot be meant as it is. */
export class CrashPointInvalid extends Error {
  override readonly name = "CrashPointInvalid";
  /** Stable reason. */
  readonly code = "PAWL_CRASH_POINT_INVALID";

  constructor(text: string) {
    super(
      `Expected PAWL_CRASH_AT to be POINT or POINT:N, N from 1, but it is "${text}". ` +
        `Points are ${CRASH_POINTS.join(", ")}. Unset it outside of crash tests.`,
    );
  }
}

/**
 * Reads the crash point that the environment asks for; undefined when it asks for none.
 * @throws CrashPointInvalid
 */
export function readCrashPoints(env: Environment): CrashPoints | undefined {
  const { PAWL_CRASH_AT: text = "", PAWL_CRASH_WHEN: armedBy = "" } = env;
  if (text === "") {
    return undefined;
  }
  const chosen = CRASH_POINTS.find((point) => text === point || text.startsWith(`${point}:`));
  const count = chosen === undefined || text === chosen ? "1" : text.slice(chosen.length + 1);
  if (chosen === undefined || !/^[1-9]\d{0,8}$/.test(count)) {
    throw new CrashPointInvalid(text);
  }
  return killAt(chosen, Number(count), () => armedBy === "" || existsSync(armedBy));
}

function killAt(chosen: CrashPoint, hitToDie: number, isArmed: () => boolean): CrashPoints {
  let hits = 0;
  return {
    hit(point) {
      if (point !== chosen || !isArmed()) {
        return;
      }
      hits += 1;
      if (hits === hitToDie) {
        // Synchronous, so that it is out before the end.
        writeSync(2, `crash point ${point} reached: this process kills itself\n`);
        process.kill(process.pid, "SIGKILL");
      }
    },
  };
}
