import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { type Client, connect } from "@pawl/sdk";
import type { Child } from "./child.js";
import { measureDiskRate } from "./disk-rate.js";
import type { Figures } from "./floors.js";
import { parked } from "./functions.js";
import { round } from "./percentile.js";
import { makeFolder, startKernel, startProgram } from "./system.js";
import { makeContent } from "./workload.js";

/** At the same time in one process. */
const lanes = 1_000;

/** SIGKILL of kernel and worker with many functions that wait for a signal; then both start, and every function gets its signal. */
export async function measureParked(size: { readonly runs: number }): Promise<Figures> {
  const directory = makeFolder();
  const store = join(directory, "store");
  try {
    const fdatasyncPerSec = measureDiskRate(directory);
    const first = await startKernel(store);
    const worker = await startServing(first.url);
    const client = connect({ url: first.url });
    await inLanes(size.runs, async (index) => {
      await client.start(parked, makeContent(), { runId: `parked-${index}` });
    });
    await untilAllWait(client);
    await client.close();
    await Promise.all([worker.kill(), first.kernel.kill()]);
    return {
      bench: "parked",
      load: "restart",
      runs: size.runs,
      ...(await measureStart(store, size.runs, first.url)),
      fdatasyncPerSec,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Both start at once, as after a power cut: the kernel where it was, and a worker that tries until it is there. */
async function measureStart(store: string, runs: number, url: string): Promise<Figures> {
  const startMs = performance.now();
  const since = (): number => round((performance.now() - startMs) / 1000);
  const [{ kernel }, worker] = await Promise.all([
    startKernel(store, new URL(url).port),
    startServing(url),
  ]);
  const client = connect({ url });
  let firstServedSeconds = 0;
  let wrong = 0;
  await inLanes(runs, async (index) => {
    const run = client.run<unknown>(`parked-${index}`);
    await run.signal("go");
    const output = await run.result({ timeout: "5m" });
    firstServedSeconds ||= since();
    wrong += typeof output === "object" ? 0 : 1;
  });
  const allFinishedSeconds = since();
  await client.close();
  await Promise.all([worker.kill(), kernel.kill()]);
  return { firstServedSeconds, allFinishedSeconds, wrong };
}

async function startServing(url: string): Promise<Child> {
  const worker = startProgram("function-worker", [url, "1000"]);
  await worker.next();
  await worker.ask("serve");
  return worker;
}

/** Every function has given its lease back, three times in a row. */
async function untilAllWait(client: Client): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    quiet = (await doAllWait(client)) ? quiet + 1 : 0;
    await setTimeout(200);
  }
}

async function doAllWait(client: Client): Promise<boolean> {
  let pageToken = "";
  do {
    const request = { status: RunStatus.RUNNING, pageSize: 1_000, pageToken };
    const { runs, nextPageToken } = await client.api.runs.listRuns(request);
    if (!runs.every(({ why }) => why.includes("waits for signal"))) {
      return false;
    }
    pageToken = nextPageToken;
  } while (pageToken !== "");
  return true;
}

async function inLanes(count: number, run: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane));
}
