import type { CliContext } from "../context.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One of the signals that ask to stop. */
export type StopSignal = (typeof SIGNALS)[number];

/** A signal sooner than this after the first is the same Ctrl-C, which npm and the terminal both send. */
export const INSIST_AFTER_MS = 500;

/** What asks this process to stop. */
export interface StopRequest {
  /** Resolves with what asked first, as words for people. */
  readonly asked: Promise<string>;
  /** Resolves with a signal that came more than 500 ms after the first request: whoever sent it does not want to wait. */
  readonly insisted: Promise<StopSignal>;
  /** Gives the signals and stdin back. */
  close(): void;
}

/** Listens for signals, and with `--exit-with-parent` for the end of stdin. */
export function listenForStop(context: CliContext, exitWithParent: boolean): StopRequest {
  let firstAtMs: number | undefined;
  let resolveAsked: (why: string) => void = () => {};
  let resolveInsisted: (signal: StopSignal) => void = () => {};
  const asked = new Promise<string>((resolve) => {
    resolveAsked = resolve;
  });
  const insisted = new Promise<StopSignal>((resolve) => {
    resolveInsisted = resolve;
  });
  const onSignal = (signal: StopSignal): void => {
    const nowMs = performance.now();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      resolveAsked(signal);
    } else if (nowMs - firstAtMs > INSIST_AFTER_MS) {
      resolveInsisted(signal);
    }
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const stopWatching = exitWithParent
    ? context.onStdinEnd(() => {
        firstAtMs ??= performance.now();
        resolveAsked("the parent process is gone");
      })
    : () => {};
  return {
    asked,
    insisted,
    close: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      stopWatching();
    },
  };
}
