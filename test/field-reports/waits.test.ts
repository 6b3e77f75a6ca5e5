import { type Client, connect, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClockedKernel } from "./support/clocked-kernel.js";

let kernel: ClockedKernel;
let client: Client;

const connected = (): Client => connect({ url: kernel.url, onConnection: () => undefined });

beforeEach(async () => {
  kernel = await ClockedKernel.open();
  client = connected();
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  await kernel.close();
  expect(kernel.faults).toEqual([]);
});

/** Waits until the explanation of the run names this. */
async function until(runId: string, what: string): Promise<void> {
  for (;;) {
    const { run } = await client.api.runs.getRun({ runId });
    if (run?.why.includes(what)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("work before a pause", () => {
  test("is not done again when a person answers, whatever was restarted meanwhile", async () => {
    const done = { read: 0, draft: 0, send: 0 };
    const reviewed = task("reviewed").run(async (ctx) => {
      const read = await ctx.step("read", () => ++done.read);
      const draft = await ctx.step("draft", () => read + ++done.draft);
      const answer = await ctx.ask<string>("go on?", {
        question: "Shall this be sent?",
        schema: { type: "string" },
      });
      await ctx.step("send", () => ++done.send);
      return answer.status === "answered" ? `${draft}: ${answer.value}` : answer.status;
    });
    await client.worker({ serve: [reviewed] });
    await client.start(reviewed, undefined, { runId: "r" });
    await until("r", "Shall this be sent?");
    await kernel.kill();
    await kernel.start();
    await client.close({ drainMs: 0 });
    client = connected();
    for await (const { inputId, version } of client.inputs.list({ runId: "r" })) {
      await client.inputs.provide(inputId, "yes", version);
    }
    await client.worker({ serve: [reviewed] });
    expect(await client.run("r").result({ timeout: "20s" })).toBe("2: yes");
    expect(done).toEqual({ read: 1, draft: 1, send: 1 });
  });
});

describe("what comes before it is waited for", () => {
  test("is kept, also over a restart and when it comes just as the wait begins", async () => {
    const pairs = 20;
    const waiting = task("waiting").run(async (ctx) => {
      const signal = await ctx.waitSignal<number>("go", { timeout: "1h" });
      return signal.status === "received" ? signal.value : signal.status;
    });
    const early = await client.start(waiting, undefined, { runId: "early" });
    await early.signal("go", -1, { requestId: "early" });
    await kernel.kill();
    await kernel.start();
    await client.close({ drainMs: 0 });
    client = connected();
    await client.worker({ serve: [waiting], slots: 8 });
    const results = Array.from({ length: pairs }, async (_, number) => {
      const run = await client.start(waiting, undefined, { runId: `r-${number}` });
      await new Promise((resolve) => setTimeout(resolve, number));
      await run.signal("go", number, { requestId: "one" });
      return await run.result({ timeout: "20s" });
    });
    expect(await Promise.all(results)).toEqual(results.map((_, number) => number));
    expect(await client.run("early").result({ timeout: "20s" })).toBe(-1);
  });

  test("is not swallowed by a wait that was over: the next wait of that name has it", async () => {
    const twice = task("twice").run(async (ctx) => {
      const first = await ctx.waitSignal<string>("go", { key: "1", timeout: "1m" });
      await ctx.waitSignal("continue");
      const second = await ctx.waitSignal<string>("go", { key: "2", timeout: "1m" });
      return [first.status, second.status === "received" ? second.value : second.status];
    });
    await client.worker({ serve: [twice] });
    const run = await client.start(twice, undefined, { runId: "r" });
    await until("r", 'for signal "go"');
    await kernel.time.pass(61_000);
    await until("r", 'for signal "continue"');
    await run.signal("go", "late", { requestId: "late" });
    await run.signal("continue", undefined, { requestId: "continue" });
    expect(await run.result({ timeout: "20s" })).toEqual(["timed-out", "late"]);
  });
});
