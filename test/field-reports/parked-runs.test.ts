import { json, operation, type ServedTask, type WorkflowContext, workflow } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { gate } from "../sdk/support/worker-bench.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;
const patience = { timeout: 60_000, interval: 20 } as const;

const paid: number[] = [];
const pay = operation("pay", {
  payload: json<number>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => {
    paid.push(op.payload);
    return `paid ${op.payload}`;
  },
});

const version = (number: number): ReturnType<typeof workflow<number>> =>
  workflow("ticket", { version: number, input: json<number>() });

async function asks(ctx: WorkflowContext, cents: number): Promise<string> {
  const terms = { target: "bank", from: ["role:finance"], requesterMayDecide: true } as const;
  const said = await ctx.approve(pay, cents, terms);
  return said.status === "approved" ? said.perform() : said.status;
}

test("runs that wait for a person, are at work or in a queue are told after an upgrade to wait for their version, keep what is decided, and go on when a worker serves it", async () => {
  const { promise: held } = gate();
  let begun = 0;
  const old: ServedTask<number, string> = version(1).run(async (ctx, cents) => {
    begun++;
    if (cents === 2 && begun <= 2) await held;
    return asks(ctx, cents);
  });
  const started = await each.kernel.worker({ serve: [old], slots: 1 });
  const waits = await each.kernel.start(old, 1, { runId: "waits" });
  await expect.poll(async () => (await waits.get()).why, patience).toContain("approval");
  const claimed = await each.kernel.start(old, 2, { runId: "claimed" });
  await expect.poll(() => begun, patience).toBe(2);
  const queued = await each.kernel.start(old, 3, { runId: "queued" });
  await started.close({ drainMs: 0 });

  await each.restart();
  await each.kernel.worker({ serve: [version(2).run(async () => "of another mind")] });
  for (const runId of ["claimed", "queued"]) {
    const run = each.kernel.run(runId);
    await expect.poll(async () => (await run.get()).why, patience).toContain('"ticket@1"');
  }
  for await (const proposal of each.kernel.approvals.list({ runId: "waits" })) {
    await each.kernel.approvals.approve(proposal);
  }
  const run = each.kernel.run<string>("waits");
  await expect.poll(async () => (await run.get()).why, patience).toContain('"ticket@1"');
  expect((await run.task("main")).attempt).toBe(1);
  expect(paid).toEqual([]);

  await each.kernel.worker({ serve: [old] });
  expect(await run.result(timeout)).toBe("paid 1");
  for (const handle of [claimed, queued]) {
    const { runId } = handle;
    const shown = async (): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { proposalId } of each.kernel.approvals.list({ runId }))
        ids.push(proposalId);
      return ids;
    };
    await expect.poll(shown, patience).toHaveLength(1);
    for await (const proposal of each.kernel.approvals.list({ runId })) {
      await each.kernel.approvals.approve(proposal);
    }
  }
  expect(await each.kernel.run("claimed").result(timeout)).toBe("paid 2");
  expect(await each.kernel.run("queued").result(timeout)).toBe("paid 3");
  expect(paid).toEqual([1, 2, 3]);
});
