import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, connect, json, operation, type ProposalInfo, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KernelProcess, startKernel } from "./support/crashing-kernel.js";
import { dieAt, expectDeathAt } from "./support/death.js";

let dir: string;
let kernels: KernelProcess[];
let client: Client | undefined;
let calls: unknown[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  kernels = [];
  calls = [];
});

afterEach(async () => {
  await client?.close({ drainMs: 0 });
  for (const kernel of kernels) kernel.kill();
  await Promise.all(kernels.map((kernel) => kernel.ended));
  await rm(dir, { recursive: true, force: true });
});

/** At an opaque sink, which could neither repeat nor look up a call: whatever comes twice shows. */
const refund = operation("payments.refund", {
  payload: json<{ cents: number }>(),
  result: json<{ receipt: number }>(),
  call: (op) => ({ receipt: calls.push(op.payload) }),
});

const pay = task("pay", { output: json<{ receipt: number }>() }).run(async (ctx) => {
  const plan = await ctx.step("plan", () => ({ cents: 1200 }));
  const said = await ctx.approve(refund, plan, { target: "till", requesterMayDecide: true });
  if (said.status !== "approved") throw new Error(`it was ${said.status}`);
  return await said.perform();
});

async function start(crashAt?: string, port = 0): Promise<{ kernel: KernelProcess; port: number }> {
  const settings = { port, ...(crashAt === undefined ? {} : { crashAt }) };
  const kernel = startKernel(join(dir, "store"), settings);
  kernels.push(kernel);
  const listens = await kernel.port;
  if (listens === undefined) throw new Error((await kernel.ended).errors);
  return { kernel, port: listens };
}

/** Approves the one proposal, however often the kernel goes away meanwhile. */
async function approveOnce(using: Client): Promise<void> {
  for (;;) {
    for await (const proposal of using.approvals.list()) {
      await using.approvals.approve(proposal, { reason: "fine" });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Nobody serves it. */
const unserved = task("unserved", { input: json<null>() });

/** Which commits: from the proposal to the observation. And the first checkpoints, which may come at any time between, or behind it. */
const cases = [
  ...["segment:before", "segment:after"].flatMap((point) =>
    [2, 3, 4, 5, 6].map((count) => [point, count] as const),
  ),
  ...["checkpoint:before", "checkpoint:after"].flatMap((point) =>
    [1, 3].map((count) => [point, count] as const),
  ),
];

describe("a kernel that dies between proposing and performing", () => {
  it.each(cases)(
    "at %s, time %i: what was approved is performed once, and nothing is asked twice",
    async (point, count) => {
      const first = await start(`${point}:${count}`);
      client = connect({ url: `http://127.0.0.1:${first.port}`, onConnection: () => undefined });
      const worker = client.worker({ serve: [pay] });
      const using = client;
      const done = (async () => {
        const run = await using.start(pay, undefined, { runId: "r" });
        await approveOnce(using);
        return await run.result({ timeout: "60s" });
      })();
      await dieAt(first.kernel, point, done, (turn) =>
        using.start(unserved, null, { runId: `more-${turn}` }),
      );
      await start(undefined, first.port);
      expect(await done).toEqual({ receipt: 1 });
      expect(calls).toEqual([{ cents: 1200 }]);
      const proposals: ProposalInfo[] = [];
      for await (const proposal of client.approvals.list({ runId: "r" })) proposals.push(proposal);
      expect(proposals).toMatchObject([
        { status: "consumed", decisions: [{ verdict: "approve", reason: "fine" }] },
      ]);
      await worker;
    },
  );
});

describe("a kernel that dies with an approval that nobody has used yet, and again while it starts", () => {
  it.each(["start:opened", "start:recovered"])(
    "at %s: the approval stands, and what was approved is performed once",
    async (point) => {
      const first = await start();
      const { port } = first;
      client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
      const worker = await client.worker({ serve: [pay] });
      const run = await client.start(pay, undefined, { runId: "r" });
      const using = client;
      const asked = async (): Promise<ProposalInfo[]> => {
        const proposals: ProposalInfo[] = [];
        for await (const proposal of using.approvals.list({ runId: "r" })) proposals.push(proposal);
        return proposals;
      };
      await expect.poll(async () => (await run.get()).why, { timeout: 30_000 }).toContain("approv");
      await worker.close();
      await approveOnce(using);
      expect(await asked()).toMatchObject([{ status: "approved" }]);
      first.kernel.kill();
      await first.kernel.ended;
      const dying = startKernel(join(dir, "store"), { port, crashAt: point });
      kernels.push(dying);
      await expectDeathAt(dying, point);
      await start(undefined, port);
      expect(await asked()).toMatchObject([
        { status: "approved", decisions: [{ verdict: "approve", reason: "fine" }] },
      ]);
      expect(calls).toEqual([]);
      await using.worker({ serve: [pay] });
      expect(await run.result({ timeout: "60s" })).toEqual({ receipt: 1 });
      expect(calls).toEqual([{ cents: 1200 }]);
      expect(await asked()).toMatchObject([{ status: "consumed", decisions: [{}] }]);
    },
  );
});
