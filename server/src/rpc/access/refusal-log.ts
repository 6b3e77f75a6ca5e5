import type { Rejection } from "../../core/rejection.js";
import type { Log } from "../../observe/log.js";

/** Who was refused, and what. */
export interface RefusedCall {
  /** Empty: nobody in particular. */
  readonly principal: string;
  /** `service/method`. */
  readonly method: string;
  /** Empty: the method acts in none, or it is not known yet. */
  readonly namespace: string;
  readonly rejection: Rejection;
}

/** The same refusal is told once in this time, in ms; then with how often it happened meanwhile. */
export const refusalEveryMs: number = 60_000;

/** Refusals that are kept in mind; beyond it the oldest are forgotten. */
const refusalsMax = 1_000;

/** Refusals that are told in `refusalEveryMs`, of whatever kind: whoever is refused names namespaces as it likes. */
const linesMax = 100;

/** Longest name of a namespace that is told: it is the caller's text. */
const namespaceLengthMax = 200;

interface Told {
  atMs: number;
  untold: number;
}

/** Tells the log who was refused for want of a credential or a role, without letting whoever is refused fill it. */
export class RefusalLog {
  readonly #log: Log;
  readonly #nowMs: () => number;
  readonly #told = new Map<string, Told>();
  #window = { beganMs: Number.NEGATIVE_INFINITY, lines: 0 };

  /** @param nowMs a clock that never goes back. */
  constructor(log: Log, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Somebody was refused. */
  refused({ principal, method, namespace, rejection: { reason } }: RefusedCall): void {
    const key = JSON.stringify([principal, method, namespace, reason]);
    const nowMs = this.#nowMs();
    const told = this.#told.get(key);
    if ((told !== undefined && nowMs - told.atMs < refusalEveryMs) || this.#isFull(nowMs)) {
      if (told !== undefined) told.untold++;
      return;
    }
    this.#window.lines++;
    const count = 1 + (told?.untold ?? 0);
    this.#keep(key, nowMs);
    const fields = {
      where: method,
      reason,
      ...(principal === "" ? {} : { principal }),
      ...(namespace === "" ? {} : { namespace: namespace.slice(0, namespaceLengthMax) }),
      ...(count === 1 ? {} : { count }),
    };
    this.#log.warn(fields, "A call was refused");
  }

  #isFull(nowMs: number): boolean {
    if (nowMs - this.#window.beganMs >= refusalEveryMs) {
      this.#window = { beganMs: nowMs, lines: 0 };
    }
    return this.#window.lines >= linesMax;
  }

  /** The one that was told last is at the end. */
  #keep(key: string, atMs: number): void {
    this.#told.delete(key);
    this.#told.set(key, { atMs, untold: 0 });
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= refusalsMax) break;
      this.#told.delete(oldest);
    }
  }
}
