import type { Clock } from "./ports.js";

/** The most by which kernel time runs slower than the monotonic clock while the wall clock comes up with it. */
const slowingMax = 0.1;

/**
 * The most by which it runs faster. Callers count their calls by clocks of their own: kernel time that hurried would pass a call's
 * deadline and its settle time before they do, and let somebody look up or decide while the call can still act.
 */
const hurryingMax = 0.001;

/**
 * Kernel time: wall clock at start, but never before the last recorded time; then monotonic, approaching the wall clock by at most
 * 0.1 % forwards and 10 % backwards. It never steps within a process, so a clock that jumps neither fires nor stalls anything.
 */
export class KernelClock {
  readonly #clock: Clock;
  #nowMs: number;
  #monotonicMs: number;

  /** @param lastRecordedMs time of the last event of the log; 0 for an empty one. */
  constructor(clock: Clock, lastRecordedMs: number) {
    this.#clock = clock;
    this.#nowMs = Math.max(clock.wallMs(), lastRecordedMs);
    this.#monotonicMs = clock.monotonicMs();
  }

  /** Kernel time in whole ms since the Unix epoch. Never less than before. */
  now(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const passedMs = Math.max(0, monotonicMs - this.#monotonicMs);
    if (passedMs === 0) {
      return Math.floor(this.#nowMs);
    }
    this.#monotonicMs = monotonicMs;
    const aheadMs = this.#clock.wallMs() - (this.#nowMs + passedMs);
    const slewMs = Math.min(passedMs * hurryingMax, Math.max(-passedMs * slowingMax, aheadMs));
    this.#nowMs += passedMs + slewMs;
    return Math.floor(this.#nowMs);
  }
}
