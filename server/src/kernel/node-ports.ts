import { randomBytes } from "node:crypto";
import type { Clock, Random, Timers } from "./ports.js";

/** The clock of this machine. */
export const nodeClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Node's timers. They do not keep the process alive by themselves. */
export const nodeTimers: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  soon(callback) {
    const immediate = setImmediate(callback);
    return { cancel: () => clearImmediate(immediate) };
  },
};

/** Node's randomness. */
export const nodeRandom: Random = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
};
