import { type Client, Conflict, connect, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClockedKernel } from "../field-reports/support/clocked-kernel.js";

let kernel: ClockedKernel;
let client: Client;

beforeEach(async () => {
  kernel = await ClockedKernel.open();
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  await kernel.close();
  expect(kernel.faults).toEqual([]);
});

const receiver = task("receiver").run(async (ctx) => {
  const got = await ctx.waitSignal<{ n: number }>("go");
  return got.status === "received" ? got.value.n : got.status;
});

/** Waits until a run says this of itself. */
async function until(runId: string, words: string): Promise<void> {
  for (;;) {
    const { run } = await client.api.runs.getRun({ runId });
    if (run?.why.includes(words)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("ctx.signalRun", () => {
  test("reaches the other run, and says what became of it", async () => {
    const sender = task("sender").run(async (ctx) => {
      const told = await ctx.signalRun("r2", "go", { n: 7 });
      const nobody = await ctx.signalRun("nobody", "go", undefined, { key: "nobody" });
      return [told.status, nobody.status];
    });
    await client.worker({ serve: [sender, receiver] });
    const other = await client.start(receiver, undefined, { runId: "r2" });
    const run = await client.start(sender, undefined, { runId: "r1" });
    expect(await run.result({ timeout: "10s" })).toEqual(["delivered", "not-found"]);
    expect(await other.result({ timeout: "10s" })).toBe(7);
    const late = await client.start(sender, undefined, { runId: "r3" });
    expect(await late.result({ timeout: "10s" })).toEqual(["run-over", "not-found"]);
  });

  test("sends once, however often the code runs", async () => {
    let runs = 0;
    const sender = task("sender", { retry: { initial: "1ms" } }).run(async (ctx) => {
      runs++;
      const { status } = await ctx.signalRun("r2", "go", { n: 1 });
      if (ctx.attempt < 3) throw new Error("again");
      await ctx.sleep("a-while", "1ms");
      return status;
    });
    const keeper = task("keeper").run(async (ctx) => {
      await ctx.waitSignal("end");
      const first = await ctx.waitSignal("go", { timeout: "1ms" });
      const second = await ctx.waitSignal("go", { timeout: "1ms", key: "again" });
      return [first.status, second.status];
    });
    await client.worker({ serve: [sender, keeper] });
    const other = await client.start(keeper, undefined, { runId: "r2" });
    const run = await client.start(sender, undefined, { runId: "r1" });
    for (let done = false; !done; ) {
      await kernel.time.pass(1_000);
      const { run: now } = await client.api.runs.getRun({ runId: "r1" });
      done = now?.closedAt !== undefined;
    }
    expect(await run.result({ timeout: "10s" })).toBe("delivered");
    expect(runs).toBeGreaterThanOrEqual(4);
    await other.signal("end");
    for (let done = false; !done; ) {
      await kernel.time.pass(1_000);
      const { run: now } = await client.api.runs.getRun({ runId: "r2" });
      done = now?.closedAt !== undefined;
    }
    expect(await other.result({ timeout: "10s" })).toEqual(["received", "timed-out"]);
  });

  test("to another run under a recorded name is a conflict, and the same name twice a mistake", async () => {
    const fickle = task("fickle", { retry: { attempts: 1 } }).run(async (ctx) => {
      await ctx.signalRun("nobody", "go");
      return await ctx
        .signalRun("nobody", "go")
        .catch((error: unknown) => Reflect.get(Object(error), "code"));
    });
    let receiverId = "one";
    const changed = task("changed", { retry: { attempts: 2, initial: "1ms" } }).run(async (ctx) => {
      try {
        await ctx.signalRun(receiverId, "go");
      } catch (error) {
        return error instanceof Conflict;
      }
      receiverId = "two";
      throw new Error("again");
    });
    await client.worker({ serve: [fickle, changed] });
    const twice = await client.start(fickle, undefined, { runId: "r1" });
    expect(await twice.result({ timeout: "10s" })).toBe("PAWL_NAME_USED_TWICE");
    const run = await client.start(changed, undefined, { runId: "r2" });
    await until("r2", "attempt 2 of 2");
    await kernel.time.pass(1_000);
    expect(await run.result({ timeout: "10s" })).toBe(true);
  });
});

test("a task waits for the answer without a slot where it is not there at once, also through a kill", async () => {
  const sender = task("sender").run(async (ctx) => {
    // Its offer is taken now: a pause would else withdraw it.
    await ctx.step("taken", { durable: true }, () => true);
    const paused = await ctx.step("paused", async () => {
      await client.run("r1").pause({ reason: "look" });
      return true;
    });
    const { status } = await ctx.signalRun("r2", "go", { n: 9 });
    return [paused, status];
  });
  const worker = await client.worker({ serve: [sender, receiver], slots: 1 });
  const other = await client.start(receiver, undefined, { runId: "r2" });
  const run = await client.start(sender, undefined, { runId: "r1" });
  while (worker.running > 0 || !(await isSuspended("r1"))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await kernel.kill();
  await kernel.start();
  await client.close({ drainMs: 0 });
  client = connect({ url: kernel.url, onConnection: () => undefined });
  await client.worker({ serve: [sender, receiver], slots: 1 });
  await client.run("r1").resume();
  expect(await client.run<unknown>("r1").result({ timeout: "10s" })).toEqual([true, "delivered"]);
  expect(await client.run<unknown>("r2").result({ timeout: "10s" })).toBe(9);
  expect([run.runId, other.runId]).toEqual(["r1", "r2"]);
});

async function isSuspended(runId: string): Promise<boolean> {
  const { tasks } = await client.api.runs.listTasks({ runId });
  return tasks[0]?.waitsFor.includes("has answered") ?? false;
}

test("ctx.cancelRun asks the other run to stop, once", async () => {
  const endless = task("endless").run(async (ctx) => {
    await ctx.waitSignal("never");
  });
  const sender = task("sender").run(async (ctx) => {
    const first = await ctx.cancelRun("r2", "no more");
    return first.status;
  });
  await client.worker({ serve: [sender, endless] });
  const other = await client.start(endless, undefined, { runId: "r2" });
  await until("r2", 'signal "never"');
  const run = await client.start(sender, undefined, { runId: "r1" });
  expect(await run.result({ timeout: "10s" })).toBe("delivered");
  await expect(other.result({ timeout: "10s" })).rejects.toMatchObject({
    code: "PAWL_RUN_CANCELLED",
  });
  const { run: ended } = await client.api.runs.getRun({ runId: "r2" });
  expect(ended?.why).toContain("no more");
});
