import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { type Client, connect } from "@pawl/sdk";
import type { Child } from "./child.js";
import { measureDiskRate } from "./disk-rate.js";
import type { Figures } from "./floors.js";
import { history, sharedMs } from "./functions.js";
import { round } from "./percentile.js";
import { makeFolder, startKernel, startProgram } from "./system.js";

/** How many steps, and in which one the worker dies. */
export interface HistorySize {
  readonly steps: number;
  readonly stopAt: number;
}

/** Many sequential steps: how long, whether the last are as quick as the first, and how soon another worker goes on after the first was killed. */
export async function measureHistory(size: HistorySize): Promise<Figures> {
  const directory = makeFolder();
  try {
    const fdatasyncPerSec = measureDiskRate(directory);
    const { kernel, url } = await startKernel(join(directory, "store"));
    const client = connect({ url });
    await measureSteps(client, url, size.steps); // Warms everything up.
    const steps = await measureSteps(client, url, size.steps);
    const coldResumeMs = await measureResume(client, url, size);
    await client.close();
    await kernel.end();
    return { bench: "history", load: "single", ...steps, coldResumeMs, fdatasyncPerSec };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureSteps(client: Client, url: string, steps: number): Promise<Figures> {
  const worker = await startServing(url);
  const startMs = sharedMs();
  const run = await client.start(history, { steps, stopAt: 0 });
  const output = await run.result({ timeout: "5m" });
  const seconds = round((sharedMs() - startMs) / 1000);
  const marks: number[] = [];
  while (marks.length <= Math.floor(steps / 1000)) {
    const { ms } = await worker.next<{ ms: number }>();
    marks.push(ms);
  }
  await worker.end();
  const first = (marks[1] ?? 0) - (marks[0] ?? 0);
  const last = (marks.at(-1) ?? 0) - (marks.at(-2) ?? 0);
  return { seconds, lastToFirstRatio: round(last / first), wrong: output === steps ? 0 : 1 };
}

/** From the moment at which another worker begins to serve, when the task is free again, until it makes the next new step. */
async function measureResume(client: Client, url: string, size: HistorySize): Promise<number> {
  const first = await startServing(url);
  const second = startProgram("function-worker", [url, "1"]);
  await second.next();
  const run = await client.start(history, size);
  while ((await first.next<{ stopped?: number }>()).stopped === undefined) {
    // Its marks are of no use here.
  }
  await first.kill();
  while ((await run.task("main")).status !== TaskStatus.READY) {
    await setTimeout(20);
  }
  const begunMs = sharedMs();
  const serving = second.ask<{ resumed?: number; ms: number }>("serve");
  let said = await serving;
  while (said.resumed === undefined) {
    said = await second.next();
  }
  await run.result({ timeout: "1m" });
  await second.end();
  return round(said.ms - begunMs);
}

async function startServing(url: string): Promise<Child> {
  const worker = startProgram("function-worker", [url, "1"]);
  await worker.next();
  await worker.ask("serve");
  return worker;
}
