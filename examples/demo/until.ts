import type { Run, RunEvent } from "@pawl/sdk";

/** Waits until the run has ended or a person must say what became of an effect. */
export function untilSettled(run: Run): Promise<void> {
  return untilEvent(run, ({ type }) => type === "RunClosed" || type === "ReviewOpened");
}

/** Waits until something has happened in the run. */
export async function untilEvent(run: Run, isIt: (event: RunEvent) => boolean): Promise<void> {
  for await (const event of run.watch()) {
    if (isIt(event)) return;
  }
}
