import type { Clock } from "./ports.js";

/** The most by which kernel time runs faster or slower than the monotonic clock while it approaches the wall clock. */
const slewRateMax = 0.1;

/**
 * Kernel time: wall clock at start, but never before the last recorded time; then monotonic, slewed towards the wall clock by
 * at most 10 %. It never steps within a process, so a clock that jumps neither fires nor stalls anything.
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
    const bound = passedMs * slewRateMax;
    this.#nowMs += passedMs + Math.min(bound, Math.max(-bound, aheadMs));
    return Math.floor(this.#nowMs);
  }
}
