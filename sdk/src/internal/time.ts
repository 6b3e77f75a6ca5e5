import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";

/** Longest delay of a host timer, in ms; a longer one would fire at once (nodejs/node#4541). */
const HOST_TIMER_MS_MAX = 2_147_483_647;

/** A timer that can be taken back. */
export interface Timer {
  /** Takes it back. Harmless when it has fired. */
  cancel(): void;
}

/** What a timer is for, where that matters to whoever steers the time. */
export type TimerUse = "wait" | "watch";

/** Time that somebody else moves: the test kit's. */
export interface SteeredTime {
  /** Milliseconds that only ever go forward. */
  monotonicMs(): number;
  /** Wall clock, in ms since the Unix epoch. */
  wallMs(): number;
  /** Calls back once, not before `delayMs`. `wait`: code stands still until then; `watch`: something else is bounded by it. */
  after(delayMs: number, callback: () => void, use: TimerUse): Timer;
  /** Told that a sink was called and has answered, under which key, and whether it has one effect for each key. */
  acted?(key: string, honoursKeys: boolean): void;
}

/**
 * The time of the code that runs now, where it is not the host's. It follows a client or worker through everything that it does, so that nothing else in the
 * process is touched: neither another client, nor the timers of the code under test.
 */
const steered = new AsyncLocalStorage<SteeredTime>();

/** Runs code, with all that follows from it, by another time. */
export function inTime<T>(time: SteeredTime, run: () => T): T {
  return steered.run(time, run);
}

/** The time that steers the code that runs now. Undefined: the host's. */
export function steeringTime(): SteeredTime | undefined {
  return steered.getStore();
}

/** Milliseconds that only ever go forward, whatever becomes of the wall clock. */
export function monotonicMs(): number {
  return steered.getStore()?.monotonicMs() ?? performance.now();
}

/** Wall clock, in ms since the Unix epoch. */
export function wallMs(): number {
  return steered.getStore()?.wallMs() ?? Date.now();
}

/**
 * Calls back once, not before `delayMs`. Longer than the host allows is armed in parts. A timer does not keep the
 * process alive: what is waited for (a stream, a call) does.
 */
export function startTimer(delayMs: number, callback: () => void, use: TimerUse = "watch"): Timer {
  const time = steered.getStore();
  return time === undefined
    ? startHostTimer(delayMs, callback)
    : time.after(Math.max(0, delayMs), AsyncResource.bind(callback), use);
}

/** As `startTimer`, by the host's time whatever steers the code: for what is about the network and not about the work. */
export function startHostTimer(delayMs: number, callback: () => void): Timer {
  let handle: NodeJS.Timeout | undefined;
  let leftMs = Math.max(0, delayMs);
  const arm = (): void => {
    const partMs = Math.min(leftMs, HOST_TIMER_MS_MAX);
    leftMs -= partMs;
    handle = setTimeout(() => (leftMs > 0 ? arm() : callback()), Math.ceil(partMs));
    handle.unref();
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

/** Waits this long, or until the signal aborts: then it rejects with the signal's reason. Keeps the process alive. */
export function wait(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(asError(signal.reason));
      return;
    }
    // The handle of its own keeps the process alive while somebody awaits this.
    const keepAlive =
      steeringTime() === undefined ? setInterval(() => undefined, HOST_TIMER_MS_MAX) : undefined;
    const finish = (): void => {
      clearInterval(keepAlive);
      signal?.removeEventListener("abort", onAbort);
    };
    const timer = startTimer(
      delayMs,
      () => {
        finish();
        resolve();
      },
      "wait",
    );
    const onAbort = (): void => {
      timer.cancel();
      finish();
      reject(asError(signal?.reason));
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The reason of an abort as an error. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason), { cause: reason });
}
