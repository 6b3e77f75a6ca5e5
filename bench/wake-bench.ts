import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { type Client, connect } from "@pawl/sdk";
import { measureDiskRate } from "./disk-rate.js";
import type { Figures } from "./floors.js";
import { sharedMs, wake } from "./functions.js";
import { percentile, round } from "./percentile.js";
import { makeFolder, startKernel, startProgram } from "./system.js";

/** Histories to wake from, and how often. */
export interface WakeSize {
  readonly steps: readonly number[];
  readonly wakes: number;
}

/** From the moment a signal is sent until the next step is made: by the worker that has the function in memory, and by one that has not. */
export async function measureWake(size: WakeSize): Promise<Figures> {
  const directory = makeFolder();
  try {
    const fdatasyncPerSec = measureDiskRate(directory);
    const { kernel, url } = await startKernel(join(directory, "store"));
    const client = connect({ url });
    const figures: Record<string, number> = {};
    for (const steps of size.steps) {
      figures[`warmMsAt${steps}`] = await measureOne(client, url, { ...size, steps }, "warm");
      figures[`coldMsAt${steps}`] = await measureOne(client, url, { ...size, steps }, "cold");
    }
    await client.close();
    await kernel.end();
    return { bench: "wake", load: "single", ...figures, wrong: 0, fdatasyncPerSec };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureOne(
  client: Client,
  url: string,
  { steps, wakes }: { readonly steps: number; readonly wakes: number },
  how: "warm" | "cold",
): Promise<number> {
  const worker = startProgram("function-worker", [url, "4", how]);
  await worker.next();
  await worker.ask("serve");
  const run = await client.start(wake, { steps, wakes });
  const took: number[] = [];
  for (let turn = 1; turn <= wakes; turn++) {
    while ((await run.task("main")).status !== TaskStatus.SUSPENDED) {
      await setTimeout(5);
    }
    const sentMs = sharedMs();
    await run.signal("go");
    const { ms } = await worker.next<{ ms: number }>();
    took.push(ms - sentMs);
  }
  await run.result({ timeout: "1m" });
  await worker.end();
  return round(percentile(took, 0.5));
}
