import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Client, connect, json, type Run, workflow } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Processes } from "../field-reports/support/processes.js";
import { waitUntil } from "../set-up/running.js";

const HOOKS = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const GATHERER = fileURLToPath(new URL("support/gatherer.ts", import.meta.url));
/** TaskStatus of proto/pawl/v1/run.proto. */
const COMPLETED = 7;
const PATIENCE = { timeout: 60_000 };

interface Gathered {
  readonly merged: { readonly order: readonly number[]; readonly drawn: number };
  /** The order in which the code that returned was given the results. */
  readonly again: readonly number[];
  readonly statuses: readonly string[];
}

const gather = workflow("gather", {
  version: 1,
  input: json<readonly number[]>(),
  output: json<Gathered>(),
  timeouts: { lease: "1s" },
});

let processes: Processes;
let client: Client | undefined;
const clean: (() => void)[] = [];

beforeEach(() => {
  processes = new Processes();
});

afterEach(async () => {
  await client?.close({ drainMs: 0 });
  client = undefined;
  for (const each of clean.splice(0)) each();
  await processes.end();
});

interface Gatherer {
  readonly says: (text: string) => Promise<void>;
  readonly kill: () => Promise<void>;
}

function startGatherer(url: string, hang = ""): Gatherer {
  const flags = ["--conditions=pawl-source", "--import", HOOKS];
  const child = spawn(process.execPath, [...flags, GATHERER, url, processes.sinkFile, hang]);
  const closed = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
  });
  let out = "";
  let errors = "";
  child.stdout.on("data", (data) => (out += String(data)));
  child.stderr.on("data", (data) => (errors += String(data)));
  clean.push(() => child.kill("SIGKILL"));
  return {
    says: (text) =>
      waitUntil(
        () => out.includes(text),
        text,
        () => `${out}\n${errors}`,
      ),
    kill: async () => {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

/** Lets one item after the other end; each is recorded before the next may. */
async function endItems(run: Run<Gathered>, items: readonly number[]): Promise<void> {
  for (const n of items) {
    await expect
      .poll(async () => (await run.task(`found/${n}/look`).catch(() => null))?.name, PATIENCE)
      .toBe(`found/${n}/look`);
    await run.signal(`look-${n}`);
    await expect
      .poll(async () => (await run.task(`found/${n}/look`)).status, PATIENCE)
      .toBe(COMPLETED);
  }
}

test("a join goes on after SIGKILL of its worker in the map and in the merge, and of the kernel, with what was recorded, in the same order", {
  timeout: 180_000,
}, async () => {
  const kernel = await processes.kernel();
  const first = startGatherer(kernel.url, "merge");
  client = connect({ url: kernel.url, onConnection: () => undefined });
  const run = await client.start(gather, [1, 2, 3, 4, 5], { runId: "g" });
  await endItems(run, [4]);
  await first.says("ended 4");
  await first.kill();

  const second = startGatherer(kernel.url, "merge");
  await endItems(run, [2, 5]);
  await second.says("merging");
  await second.kill();

  // Late comers: what is given up is given up in the same place, whatever ends meanwhile.
  await run.signal("look-1");
  kernel.child.kill("SIGKILL");
  await kernel.end;
  await processes.kernel(kernel.port);
  const third = startGatherer(kernel.url);
  await expect.poll(async () => (await run.get()).why, PATIENCE).toContain('"end"');
  await third.kill();

  startGatherer(kernel.url);
  await run.signal("end");
  const { merged, again, statuses } = await run.result({ timeout: "60s" });
  expect(merged.order).toEqual([4, 2, 5]);
  expect(again).toEqual([4, 2, 5]);
  expect(statuses).toEqual(["missing", "ok", "missing", "ok", "ok"]);
  const calls = processes.sinkCalls().filter((key) => !key.includes("found/1/"));
  expect(new Set(calls).size).toBe(3);
  expect(calls).toHaveLength(3);
});
