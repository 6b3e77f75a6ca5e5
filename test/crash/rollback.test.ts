import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect, type Run, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KernelProcess, startKernel } from "./support/crashing-kernel.js";
import { dieAt } from "./support/death.js";

const hooks = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const script = fileURLToPath(new URL("support/rollback-worker.ts", import.meta.url));

let dir: string;
let kernels: KernelProcess[];
let workers: ChildProcess[];
let client: Client | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  kernels = [];
  workers = [];
  await writeFile(sink(), "");
});

afterEach(async () => {
  await client?.close({ drainMs: 0 });
  for (const worker of workers) worker.kill("SIGKILL");
  for (const kernel of kernels) kernel.kill();
  await Promise.all(kernels.map((kernel) => kernel.ended));
  await rm(dir, { recursive: true, force: true });
});

const sink = (): string => join(dir, "sink");

/** What reached the sink, without its keys. */
async function reached(): Promise<string[]> {
  const lines = (await readFile(sink(), "utf8")).trim().split("\n");
  return lines.map((line) => line.split(" ").slice(1).join(" "));
}

async function start(crashAt?: string, port = 0): Promise<{ kernel: KernelProcess; port: number }> {
  const settings = { port, ...(crashAt === undefined ? {} : { crashAt }) };
  const kernel = startKernel(join(dir, "store"), settings);
  kernels.push(kernel);
  const listens = await kernel.port;
  if (listens === undefined) throw new Error((await kernel.ended).errors);
  return { kernel, port: listens };
}

function startWorker(port: number, moment = ""): ChildProcess {
  const flags = ["--conditions=pawl-source", "--import", hooks];
  const worker = spawn(process.execPath, [...flags, script, `${port}`, sink()], {
    env: { ...process.env, PAWL_TEST_DIE_AT: moment },
    stdio: ["pipe", "ignore", "inherit"],
  });
  workers.push(worker);
  return worker;
}

const trip = task("trip@1", {
  timeouts: { lease: "1s" },
  // A busy machine may lose more leases than the one that is killed with its worker.
  retry: { attempts: 50, workerLosses: 50, initial: "10ms", max: "10ms" },
});
/** Nobody serves it. */
const unserved = task("unserved");

function begin(port: number): Promise<Run<unknown>> {
  client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
  return client.start(trip, undefined, { runId: "r" });
}

const all = ["hold 1a", "hold 2b", "hold 3c", "release 3c", "release 2b", "release 1a"];

describe("a rollback whose worker dies undoes each effect once, the latest first", () => {
  it.each([
    "before hold 3c",
    "after hold 3c",
    "declared 3c",
    "at the end",
    "before release 3c",
    "after release 3c",
    "before release 1a",
    "after release 1a",
  ])("%s", async (moment) => {
    const { port } = await start();
    const run = await begin(port);
    const dying = startWorker(port, moment);
    const [, signal] = await once(dying, "exit");
    expect(signal).toBe("SIGKILL");
    startWorker(port);
    await expect(run.result({ timeout: "2m" })).rejects.toThrow("main");
    expect(await reached()).toEqual(all);
  });
});

describe("a rollback whose kernel dies undoes each effect once, the latest first", () => {
  const points = ["segment:before", "segment:after"].flatMap((point) =>
    [5, 8, 9, 10, 11, 12, 13, 14, 15].map((count) => [point, count] as const),
  );
  it.each([...points, ["checkpoint:after", 2]] as const)("at %s, time %i", async (point, count) => {
    const first = await start(`${point}:${count}`);
    const { port } = first;
    const beginning = begin(port);
    const using = client;
    startWorker(port);
    const done = (async () => {
      const run = await beginning;
      return await run.result({ timeout: "2m" }).catch((error: unknown) => error);
    })();
    await dieAt(first.kernel, point, done, async (turn) => {
      await using?.start(unserved, undefined, { runId: `more-${turn}` });
    });
    await start(undefined, port);
    expect(await done).toMatchObject({ code: "PAWL_RUN_FAILED" });
    expect(await reached()).toEqual(all);
  });
});
