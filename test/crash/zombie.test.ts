// Goal: a worker that is frozen in the middle of a call is taken for dead; what it had sent arrives when its successor has gone on.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Client, connect, json, type Run, task } from "@pawl/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import { waitUntil } from "../set-up/running.js";
import { type KernelProcess, startKernel } from "./support/crashing-kernel.js";

const hooks = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const script = fileURLToPath(new URL("support/zombie-worker.ts", import.meta.url));
const patience = { timeout: 60_000 } as const;

/** A sink in this process. The first call stands still at it, until the test lets it have its effect. */
class Sink {
  readonly effects: string[] = [];
  readonly lookUps: string[] = [];
  /** Calls that came, the held one included. */
  calls = 0;
  readonly #honoursKeys: boolean;
  readonly #server: Server;
  #held: { readonly key: string; readonly response: ServerResponse } | undefined;

  constructor(honoursKeys: boolean) {
    this.#honoursKeys = honoursKeys;
    this.#server = createServer(async (request, response) => {
      let key = "";
      for await (const part of request) key += String(part);
      if (request.url === "/find") response.end(this.#find(key));
      else this.#pay(key, response);
    });
  }

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("expected a port");
    return `http://127.0.0.1:${address.port}`;
  }

  /** What was on its way takes effect now. */
  arrive(): void {
    if (this.#held === undefined) throw new Error("expected a call on its way");
    this.#act(this.#held.key);
    this.#held.response.end("first");
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pay(key: string, response: ServerResponse): void {
    this.calls++;
    if (this.calls === 1) {
      this.#held = { key, response };
      return;
    }
    this.#act(key);
    response.end("second");
  }

  #act(key: string): void {
    if (!this.#honoursKeys || !this.effects.includes(key)) this.effects.push(key);
  }

  #find(key: string): string {
    const isThere = this.effects.includes(key);
    this.lookUps.push(isThere ? "found" : "absent");
    return isThere ? "first" : "";
  }
}

let dir: string;
let kernel: KernelProcess;
let workers: ChildProcess[];
let client: Client;
let sink: Sink;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  workers = [];
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  for (const worker of workers) worker.kill("SIGKILL");
  kernel.kill();
  await kernel.ended;
  await sink.close();
  await rm(dir, { recursive: true, force: true });
});

const pays = task("pays@1", { output: json<string>(), timeouts: { lease: "2s" } });

interface Frozen {
  readonly run: Run<string>;
  readonly key: string;
  /** The worker goes on, and hears of what has become of its call. */
  readonly thaw: () => void;
}

/** A worker is frozen while its call is on its way; another one has its task. */
async function freezeInTheCall(kind: "idempotent" | "reconcilable"): Promise<Frozen> {
  kernel = startKernel(join(dir, "store"));
  const port = await kernel.port;
  sink = new Sink(kind === "idempotent");
  const sinkUrl = await sink.open();
  client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
  const startWorker = async (): Promise<ChildProcess & { readonly stdin: Writable }> => {
    const flags = ["--conditions=pawl-source", "--import", hooks];
    const words = [script, `${port}`, sinkUrl, kind];
    const worker = spawn(process.execPath, [...flags, ...words], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    workers.push(worker);
    await once(worker.stdout, "data");
    return worker;
  };
  const [first, second] = await Promise.all([startWorker(), startWorker()]);
  first.stdin.write("serve\n");
  const run = await client.start(pays, undefined, { runId: "r" });
  await waitUntil(
    () => sink.isHolding,
    "a call at the sink",
    () => `${sink.calls}`,
  );
  first.kill("SIGSTOP");
  second.stdin.write("serve\n");
  const lease = async (): Promise<number> => (await run.task("main")).leaseVersion;
  await expect.poll(lease, patience).toBeGreaterThan(1);
  const { operations } = await client.api.operations.listOperations({ runId: "r" });
  return { run, key: operations[0]?.key ?? "", thaw: () => void first.kill("SIGCONT") };
}

/** Waits until the zombie has heard that its lease is gone: it takes other work then. */
async function expectUnchanged({ run, key, thaw }: Frozen, result: string): Promise<void> {
  thaw();
  for (let turn = 0; turn < 3; turn++) {
    await client.start(pays, undefined, { runId: `other-${turn}` }).then((other) => other.result());
  }
  expect(await run.result()).toBe(result);
  const { operation } = await client.api.operations.getOperation({ key });
  const { result: recorded } = operation ?? {};
  expect(recorded?.body.case === "data" ? Buffer.from(recorded.body.value).toString() : "").toBe(
    JSON.stringify(result),
  );
}

it("a zombie's call that lands before its settle time is over is found: its successor had not looked", async () => {
  const frozen = await freezeInTheCall("reconcilable");
  expect(sink.lookUps).toEqual([]);
  sink.arrive();
  expect(await frozen.run.result({ timeout: "60s" })).toBe("first");
  expect(sink.lookUps).toEqual(["found"]);
  expect(sink.calls).toBe(1);
  await expectUnchanged(frozen, "first");
  expect(sink.effects.filter((key) => key === frozen.key)).toEqual([frozen.key]);
});

it("one that lands after that, behind its successor's look-up, acts beside it, and what is recorded stays", async () => {
  const frozen = await freezeInTheCall("reconcilable");
  expect(await frozen.run.result({ timeout: "60s" })).toBe("second");
  expect(sink.lookUps).toEqual(["absent"]);
  sink.arrive();
  await expectUnchanged(frozen, "second");
  // The sink was said to take at most 16 s and took longer: this is what `settle` is for.
  expect(sink.effects.filter((key) => key === frozen.key)).toEqual([frozen.key, frozen.key]);
});

it("one at a sink that honours keys, behind its successor's call, has no effect of its own", async () => {
  const frozen = await freezeInTheCall("idempotent");
  expect(await frozen.run.result({ timeout: "60s" })).toBe("second");
  sink.arrive();
  await expectUnchanged(frozen, "second");
  expect(sink.effects.filter((key) => key === frozen.key)).toEqual([frozen.key]);
});
