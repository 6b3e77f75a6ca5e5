import { setTimeout as delay } from "node:timers/promises";
import type { StopSignals } from "../processes/stop-signals.js";
import { kernelFolder } from "./folders.js";
import { say } from "./printer.js";
import { runAndTell } from "./run-and-tell.js";
import { findRunningKernel, type RunningKernel } from "./running-kernel.js";
import type { Settings } from "./settings.js";

const lookEveryMs = 300;

/** What a joining process goes by. */
export interface JoinWatch {
  readonly stop: StopSignals;
  /** Resolves when nobody supervises the folder any more. */
  readonly isFree: (signal: AbortSignal) => Promise<void>;
}

/**
 * Another `npm start` keeps this folder's processes running: uses its kernel, and shows the run.
 * @returns the exit code; undefined when the other one has ended, so that this one may take over.
 */
export async function joinRunning(
  { startsNew }: Settings,
  { stop, isFree }: JoinWatch,
): Promise<number | undefined> {
  say("", "Another npm start keeps everything in this folder running; this one joins it.");
  const over = new AbortController();
  const told = (async () => {
    const { url, pid } = await waitForKernel(over.signal);
    say("kernel", `process ${pid} serves ./${kernelFolder} at ${url}`);
    await runAndTell({ kernel: url }, { startsNew });
    say("", "npm start -- --new starts another run.");
    return 0;
  })();
  const ends = [told, stop.stopped.then(() => 0), isFree(over.signal).then(() => undefined)];
  try {
    return await Promise.race(ends);
  } finally {
    over.abort();
    for (const end of ends) end.catch(() => undefined);
  }
}

async function waitForKernel(signal: AbortSignal): Promise<RunningKernel> {
  for (;;) {
    const found = await findRunningKernel();
    if (found !== undefined) return found;
    await delay(lookEveryMs, undefined, { signal });
  }
}
