// Goal: an update is seen once and answered once, though the kernel dies around its commits, or the worker that has taken it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connect, json, type Run, task, update } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../set-up/running.js";
import { type KernelProcess, type KernelSettings, startKernel } from "./support/crashing-kernel.js";
import { dieAt } from "./support/death.js";

const hooks = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const script = fileURLToPath(new URL("support/update-worker.ts", import.meta.url));
const timeout = { timeout: "60s" } as const;

const move = update("move", { input: json<number>(), result: json<{ readonly left: number }>() });
const stop = update("stop");
const account = task("account@1", {
  output: json<readonly number[]>(),
  timeouts: { lease: "1s" },
});
/** Nobody serves it. */
const unserved = task("unserved");

let dir: string;
let kernels: KernelProcess[];
let workers: ChildProcess[];
let clients: Client[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  kernels = [];
  workers = [];
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close({ drainMs: 0 })));
  for (const worker of workers) worker.kill("SIGKILL");
  for (const kernel of kernels) kernel.kill();
  await Promise.all(kernels.map((kernel) => kernel.ended));
  await rm(dir, { recursive: true, force: true });
});

async function start(settings: KernelSettings = {}): Promise<[KernelProcess, number]> {
  const kernel = startKernel(join(dir, "store"), settings);
  kernels.push(kernel);
  const port = await kernel.port;
  if (port === undefined) throw new Error((await kernel.ended).errors);
  return [kernel, port];
}

/** Each client is a sender of its own. */
function sender(port: number): Client {
  const client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
  clients.push(client);
  return client;
}

interface WorkerProcess {
  readonly child: ChildProcess;
  readonly says: (line: string) => Promise<void>;
}

function startWorker(port: number, moment = ""): WorkerProcess {
  const flags = ["--conditions=pawl-source", "--import", hooks];
  const child = spawn(process.execPath, [...flags, script, `${port}`, moment], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  workers.push(child);
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const says = (line: string): Promise<void> =>
    waitUntil(
      () => out.split("\n").includes(line),
      line,
      () => out,
    );
  return { child, says };
}

/** The function waits for its first update. */
async function begin(port: number): Promise<Run<readonly number[]>> {
  const run = await sender(port).start(account, undefined, { runId: "r" });
  const why = async (): Promise<string> => (await run.get()).why;
  await expect.poll(why, { timeout: 45_000 }).toContain('"move"');
  return run;
}

/** Whoever sends the same again, and whoever asks for it, gets the one answer; the function saw it once. */
async function expectSeenOnce(run: Run<readonly number[]>, port: number): Promise<void> {
  const another = sender(port).run("r");
  expect(await another.update(move, -4, { updateId: "u", ...timeout })).toEqual({ left: 6 });
  expect(await another.updateResult("u", timeout)).toEqual({ left: 6 });
  await another.update(stop, undefined, { updateId: "stop", ...timeout });
  expect(await run.result(timeout)).toEqual([-4]);
  const types: string[] = [];
  for await (const { type } of run.watch()) types.push(type);
  // The update, and the one that stops it.
  expect(types.filter((type) => type === "SignalReceived")).toHaveLength(2);
}

describe("an update whose kernel dies", () => {
  // Its own commit, that of the lease with which it is taken, that of the answer, and what follows.
  const cases = ["segment:before", "segment:after"].flatMap((point) =>
    [1, 2, 3, 4].map((count) => [point, count] as const),
  );

  it.each(cases)(
    "at %s, time %i from when it is sent: it is seen once, and each sender gets the one answer",
    async (point, count) => {
      const crashWhen = join(dir, "now");
      const [kernel, port] = await start({ crashAt: `${point}:${count}`, crashWhen });
      startWorker(port);
      const run = await begin(port);
      await writeFile(crashWhen, "");
      const sent = run.update(move, -4, { updateId: "u", ...timeout });
      await dieAt(kernel, point, sent, (turn) =>
        sender(port).start(unserved, undefined, { runId: `more-${turn}` }),
      );
      await start({ port });
      expect(await sent).toEqual({ left: 6 });
      await expectSeenOnce(run, port);
    },
  );
});

describe("an update whose worker is killed", () => {
  it.each(["taken", "answered"])(
    "when it is %s: it is seen once, and each sender gets the one answer",
    async (moment) => {
      const [, port] = await start();
      const first = startWorker(port, moment);
      const run = await begin(port);
      const sent = run.update(move, -4, { updateId: "u", ...timeout });
      await first.says(moment);
      first.child.kill("SIGKILL");
      await once(first.child, "exit");
      startWorker(port);
      expect(await sent).toEqual({ left: 6 });
      await expectSeenOnce(run, port);
    },
  );

  it("and its kernel with it, when it is taken: the same", async () => {
    const [kernel, port] = await start();
    const first = startWorker(port, "taken");
    const run = await begin(port);
    const sent = run.update(move, -4, { updateId: "u", ...timeout });
    await first.says("taken");
    first.child.kill("SIGKILL");
    kernel.kill();
    await Promise.all([once(first.child, "exit"), kernel.ended]);
    await start({ port });
    startWorker(port);
    expect(await sent).toEqual({ left: 6 });
    await expectSeenOnce(run, port);
  });
});
