import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Cancelled, type Client, connect, json, task, workflow } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Processes } from "../field-reports/support/processes.js";
import { waitUntil } from "../set-up/running.js";

const HOOKS = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const CANCELLER = fileURLToPath(new URL("support/canceller.ts", import.meta.url));
const PATIENCE = { timeout: 120_000 };
/** TaskStatus of proto/pawl/v1/run.proto. */
const SUSPENDED = 5;
const COMPLETED = 7;
const CANCELLED = 10;

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

function startCanceller(url: string, hang = "") {
  const flags = ["--conditions=pawl-source", "--import", HOOKS];
  const child = spawn(process.execPath, [...flags, CANCELLER, url, hang]);
  const closed = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
  });
  let out = "";
  child.stdout.on("data", (data) => (out += String(data)));
  child.stderr.on("data", (data) => (out += String(data)));
  clean.push(() => child.kill("SIGKILL"));
  return {
    says: (text: string) =>
      waitUntil(
        () => out.includes(text),
        text,
        () => out,
      ),
    kill: async () => {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

test("calls that were cancelled stay so after SIGKILL of the function's worker and of the kernel, each in its way", {
  timeout: 400_000,
}, async () => {
  const kernel = await processes.kernel();
  const using = connect({ url: kernel.url, onConnection: () => undefined });
  client = using;
  const reasons: unknown[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = task("held").run(async ({ signal }) => {
    signal.addEventListener("abort", () => reasons.push(signal.reason), { once: true });
    await released;
    return 7;
  });
  await using.worker({ serve: [held] });
  const first = startCanceller(kernel.url, "cancelled");
  const canceller = workflow("canceller", {
    ...{ version: 1, output: json<readonly string[]>() },
    timeouts: { lease: "1s" },
    // A lease is lost with each kill, and may be lost on a busy machine besides.
    retry: { attempts: 50, workerLosses: 50, initial: "10ms", max: "10ms" },
  });
  const run = await using.start(canceller, undefined, { runId: "c" });
  await expect
    .poll(async () => (await run.task("held").catch(() => null))?.attempt, PATIENCE)
    .toBe(1);
  await run.signal("cancel");
  await first.says("cancelled");
  await first.kill();
  kernel.child.kill("SIGKILL");
  await kernel.end;
  await processes.kernel(kernel.port);

  const second = startCanceller(kernel.url);
  await expect
    .poll(async () => (await run.task("main").catch(() => null))?.status, PATIENCE)
    .toBe(SUSPENDED);
  await second.kill();
  await expect.poll(() => reasons, PATIENCE).toEqual([expect.any(Cancelled)]);
  startCanceller(kernel.url);
  await run.signal("end");
  release();
  await expect.poll(async () => (await run.task("main")).status, PATIENCE).toBe(COMPLETED);
  expect((await run.get()).why).toContain('"abandon"');
  await using.worker({ serve: [task("abandon").run(() => null)] });
  expect(await run.result({ timeout: "2m" })).toEqual([
    "failed with PAWL_CALL_CANCELLED",
    "gave 7",
    "failed with PAWL_CALL_CANCELLED",
    "cancelled by request",
    "cancelled by abandon",
  ]);
  expect((await run.task("request")).status).toBe(CANCELLED);
});
