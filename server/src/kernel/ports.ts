/**
 * The five ports through which everything not determined by state and commands reaches the kernel. The other two are the store
 * (`log/store.ts`) and the network (`rpc/`). The simulator brings its own of each; the product's code is the same.
 */

/** Reads time. */
export interface Clock {
  /** Wall clock, in ms since the Unix epoch. May jump. */
  wallMs(): number;
  /** Monotonic clock, in ms from an arbitrary point. Never goes back. */
  monotonicMs(): number;
}

/** Something that can be called off. */
export interface Cancellable {
  cancel(): void;
}

/** Calls back later. */
export interface Timers {
  /** Calls back once, not before `delayMs`. `delayMs` is at most 2^31 − 1: longer waits are made of several. */
  after(delayMs: number, callback: () => void): Cancellable;
  /** Calls back when everything that has already arrived was handled (`setImmediate`). */
  soon(callback: () => void): Cancellable;
}

/** Draws ids and numbers. */
export interface Random {
  /** A number from 0 (included) to 1. */
  fraction(): number;
  /** Random bytes. */
  bytes(count: number): Uint8Array;
}

/** Longest wait that a host timer takes: 2^31 − 1 ms; a longer one fires at once. */
export const timerMsMax = 2_147_483_647;
