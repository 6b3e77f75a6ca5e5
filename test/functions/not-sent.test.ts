import { Fatal, json, NotSent, type Operation, operation, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { beforeEach, describe, expect, test } from "vitest";

/** What reached the banks, in order. */
let done: string[] = [];
/** Banks whose line is busy. */
let busy: Set<string> = new Set();
/** What the code was given, one list for each execution. */
let executions: string[][] = [];

beforeEach(() => {
  done = [];
  busy = new Set();
  executions = [];
});

function payAt(bank: string): Operation<number, string> {
  return operation(`pay-${bank}`, {
    payload: json<number>(),
    result: json<string>(),
    sink: { kind: "idempotent", keyWindow: "1d" },
    call: () => {
      if (busy.has(bank)) throw new NotSent(`the line to ${bank} is busy`);
      done.push(bank);
      return bank;
    },
  });
}
const payA = payAt("a");
const payB = payAt("b");
const giveBack = payAt("back");
const at = { target: "bank" } as const;

describe("code that goes on after a call that was not sent", () => {
  test("goes the same way when it runs again, and does not send it then", async () => {
    busy.add("a");
    const paying = workflow("paying", { version: 1 }).run(async (ctx) => {
      const given: string[] = [];
      executions.push(given);
      const paid = await ctx.perform(payA, 1, at).catch((error: unknown) => {
        if (!(error instanceof NotSent)) throw error;
        given.push(error.message);
        return ctx.perform(payB, 1, at);
      });
      await ctx.waitSignal("go");
      return paid;
    });
    await using env = await openTestEnvironment();
    env.crashAt({ when: "after", what: "observation", name: "pay-b" });
    await env.worker({ serve: [paying], warmBytesMax: 0 });
    const run = await env.kernel.start(paying, undefined, { runId: "p" });
    await env.settle();
    busy.clear();
    await run.signal("go");
    expect(await run.result()).toBe("b");
    expect(done).toEqual(["b"]);
    expect(executions).toEqual(executions.map(() => ["the line to a is busy"]));
    expect(executions.length).toBeGreaterThan(1);
  });

  test("may perform it again, and is given both again", async () => {
    busy.add("a");
    const trying = workflow("trying", { version: 1 }).run(async (ctx) => {
      const given: string[] = [];
      executions.push(given);
      for (let turn = 1; given.at(-1) !== "a"; turn++) {
        given.push(await ctx.perform(payA, 1, at).catch((error: Error) => error.name));
        await ctx.sleep("pause", "1m", { key: `${turn}` });
      }
      return given.join();
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [trying], warmBytesMax: 0 });
    const run = await env.kernel.start(trying, undefined, { runId: "t" });
    await env.advance("90s");
    busy.clear();
    expect(await run.result()).toBe("NotSent,NotSent,a");
    expect(executions.at(-1)).toEqual(["NotSent", "NotSent", "a"]);
    expect(done).toEqual(["a"]);
  });

  test("gets to how to undo what it did, when that is undone", async () => {
    busy.add("a");
    const undoing = workflow("undoing", { version: 1 }).run(async (ctx) => {
      await ctx.perform(payA, 1, at).catch(() => ctx.perform(payB, 1, at));
      ctx.onRollback(giveBack, 1, at);
      throw new Fatal("no use");
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [undoing] });
    const run = await env.kernel.start(undoing, undefined, { runId: "u" });
    await expect(run.result()).rejects.toThrow("no use");
    expect(done).toEqual(["b", "back"]);
  });
});

test.each([0, 1, 2, 3, 4])(
  "a call that was not sent is given in the same order, warm and cold, beside a step that takes %i turns",
  async (turns) => {
    busy.add("a");
    const beside = workflow("beside", { version: 1 }).run(async (ctx) => {
      const given: string[] = [];
      executions.push(given);
      const step = ctx.step("step", async () => {
        for (let turn = 0; turn < turns; turn++) await new Promise((go) => setImmediate(go));
        return "step";
      });
      await Promise.all([
        ctx.perform(payA, 1, at).catch((error: Error) => given.push(error.name)),
        step.then((value) => given.push(value)),
      ]);
      await ctx.waitSignal("go");
      return given.join();
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [beside], warmBytesMax: 0 });
    const run = await env.kernel.start(beside, undefined, { runId: "b" });
    await env.settle();
    busy.clear();
    await run.signal("go");
    const [warm = []] = executions;
    expect(await run.result()).toBe(warm.join());
    expect([...warm].sort()).toEqual(["NotSent", "step"]);
    expect(done).toEqual([]);
  },
);

test("code that lets it through is tried again, also beside a step that is recorded meanwhile", async () => {
  busy.add("a");
  const letting = workflow("letting", { version: 1, retry: { attempts: 3, initial: "1m" } }).run(
    async (ctx) => {
      executions.push([]);
      const step = ctx.step("step", async () => {
        for (let turn = 0; turn < 3; turn++) await new Promise((go) => setImmediate(go));
        return "step";
      });
      const [paid] = await Promise.all([ctx.perform(payA, 1, at), step]);
      return paid;
    },
  );
  await using env = await openTestEnvironment();
  await env.worker({ serve: [letting] });
  const run = await env.kernel.start(letting, undefined, { runId: "l" });
  await env.advance("10s");
  busy.clear();
  expect(await run.result()).toBe("a");
  expect(executions).toHaveLength(2);
});
