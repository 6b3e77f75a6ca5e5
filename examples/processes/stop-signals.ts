/** The signals that ask to stop: Ctrl-C, `kill`, and a closed terminal. */
const stopSignals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Ctrl-C under npm arrives twice at once, from the terminal and from npm. Only a later signal is a person who insists. */
const insistAfterMs = 500;

/** What the person at the terminal wants. */
export interface StopSignals {
  /** Resolves at the first signal. */
  readonly stopped: Promise<NodeJS.Signals>;
  /** Resolves at a further signal that comes more than 500 ms later. */
  readonly insisted: Promise<void>;
  /** Gives the signals back to Node.js. */
  close(): void;
}

/** Listens for the signals that ask to stop; Node.js no longer dies of them meanwhile. */
export function listenForStop(): StopSignals {
  let firstAtMs: number | undefined;
  let stop: (signal: NodeJS.Signals) => void = () => undefined;
  let insist: () => void = () => undefined;
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    stop = resolve;
  });
  const insisted = new Promise<void>((resolve) => {
    insist = resolve;
  });
  const handle = (signal: NodeJS.Signals): void => {
    if (firstAtMs === undefined) {
      firstAtMs = performance.now();
      stop(signal);
    } else if (performance.now() - firstAtMs > insistAfterMs) {
      insist();
    }
  };
  for (const signal of stopSignals) process.on(signal, handle);
  return {
    stopped,
    insisted,
    close: () => {
      for (const signal of stopSignals) process.off(signal, handle);
    },
  };
}
