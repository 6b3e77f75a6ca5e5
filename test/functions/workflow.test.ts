import { CallFailed, Fatal, isOk, JoinFailed, json, task, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();

const double = task("double", { input: json<number>() }).run((_ctx, n) => {
  if (n < 0) throw new Fatal("negative");
  return n * 2;
});

describe("a workflow function", () => {
  test("is an ordinary async function: steps, calls, a loop, a result", async () => {
    let drawn = 0;
    const sum = workflow("sum", { version: 1, input: json<readonly number[]>() }).run(
      async (ctx, numbers) => {
        const start = await ctx.step("draw", () => ++drawn);
        let total = start;
        for (const [index, n] of numbers.entries()) {
          total += await ctx.call(double, n, { key: `${index}` });
        }
        return total;
      },
    );
    await each.kernel.worker({ serve: [sum, double], slots: 1 });
    const run = await each.kernel.start(sum, [1, 2, 3], { runId: "r" });
    expect(await run.result({ timeout: "2m" })).toBe(13);
    expect(drawn).toBe(1);
    expect((await run.task("main")).kind).toBe("sum@1");
  });

  test("sees the failure of a called task as an error, and may go on", async () => {
    const careful = workflow("careful", { version: 1 }).run(async (ctx) => {
      try {
        return await ctx.call(double, -1);
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error;
        return `${error.task}: ${error.failure.message}`;
      }
    });
    await each.kernel.worker({ serve: [careful, double] });
    expect(await each.kernel.execute(careful, undefined, { timeout: "2m" })).toBe(
      "double: negative",
    );
  });

  test("waits for signals and time without a lease, side by side with what it does", async () => {
    const order = workflow("order", { version: 1 }).run(async (ctx) => {
      const both = await ctx.all([
        ctx.waitSignal<string>("paid"),
        ctx.step("pick", () => "picked"),
        ctx.sleep("soon", "10ms"),
      ]);
      const [paid, picked] = both;
      return [paid.status === "received" ? paid.value : "", picked];
    });
    await each.kernel.worker({ serve: [order] });
    const run = await each.kernel.start(order, undefined, { runId: "o" });
    await expect.poll(async () => (await run.get()).why).toContain('waits for signal "paid"');
    await run.signal("paid", "by card");
    expect(await run.result({ timeout: "2m" })).toEqual(["by card", "picked"]);
  });

  test("goes on after its worker is gone, from what was recorded", async () => {
    let calls = 0;
    const survivor = workflow("survivor", { version: 1 }).run(async (ctx) => {
      const first = await ctx.step("first", () => ++calls);
      const doubled = await ctx.call(double, 21);
      const { status } = await ctx.waitSignal("go");
      return { first, doubled, status };
    });
    const one = await each.kernel.worker({ serve: [survivor, double] });
    const run = await each.kernel.start(survivor, undefined, { runId: "s" });
    await expect.poll(async () => (await run.get()).why).toContain('signal "go"');
    await one.close();
    await run.signal("go");
    await each.kernel.worker({ serve: [survivor, double] });
    expect(await run.result({ timeout: "2m" })).toEqual({
      first: 1,
      doubled: 42,
      status: "received",
    });
    expect(calls).toBe(1);
  });
});

describe("a map", () => {
  const numbers = [3, 1, -1, 2];

  test("gives what became of each item, in their order", async () => {
    const fan = workflow("fan", { version: 1 }).run(async (ctx) => {
      const done = await ctx.map("double", numbers, { key: String }, (n) => ctx.call(double, n));
      return done.map((item) => (isOk(item) ? item.value : item.status));
    });
    await each.kernel.worker({ serve: [fan, double] });
    expect(await each.kernel.execute(fan, undefined, { timeout: "2m" })).toEqual([
      6,
      2,
      "failed",
      4,
    ]);
  });

  test("that needs only some gives the others up, and their tasks are cancelled", async () => {
    const slow = task("slow", { input: json<number>() }).run(async (ctx, n) => {
      if (n > 1) await ctx.waitSignal("never");
      return n;
    });
    const some = workflow("some", { version: 1 }).run(async (ctx) => {
      const done = await ctx.map("try", [0, 1, 2], { key: String, join: { atLeast: 2 } }, (n) =>
        ctx.call(slow, n),
      );
      await ctx.waitSignal("end");
      return done.map(({ status }) => status);
    });
    await each.kernel.worker({ serve: [some, slow] });
    const run = await each.kernel.start(some, undefined, { runId: "m" });
    await expect
      .poll(async () => (await run.task("try/2/slow").catch(() => undefined))?.status)
      .toBe(10);
    await run.signal("end");
    expect(await run.result({ timeout: "2m" })).toEqual(["ok", "ok", "missing"]);
  });

  test("of which too few succeed throws, with the errors in the order of the items", async () => {
    const bad = workflow("bad", { version: 1 }).run(async (ctx) => {
      try {
        await ctx.map("all", [-1, -2, 5], { key: String, join: { atLeast: 2 } }, (n) =>
          ctx.call(double, n),
        );
        return "";
      } catch (error) {
        if (!(error instanceof JoinFailed)) throw error;
        return error.errors.map((failed) => (failed instanceof CallFailed ? failed.task : ""));
      }
    });
    await each.kernel.worker({ serve: [bad, double] });
    expect(await each.kernel.execute(bad, undefined, { timeout: "2m" })).toEqual([
      "all/-1/double",
      "all/-2/double",
    ]);
  });

  test("may start a child run for each item, under one name", async () => {
    const family = workflow("family", { version: 1 }).run(async (ctx) => {
      const grown = await ctx.map("child", [1, 2], { key: String }, (n) => ctx.child(double, n));
      return grown.map((item) => (isOk(item) ? item.value : item.status));
    });
    await each.kernel.worker({ serve: [family, double] });
    expect(await each.kernel.execute(family, undefined, { timeout: "2m" })).toEqual([2, 4]);
  });

  test("of nothing is nothing, at once", async () => {
    const none = workflow("none", { version: 1 }).run(async (ctx) => {
      const done = await ctx.map("x", [] as number[], { key: String }, (n) => ctx.call(double, n));
      return done.length;
    });
    await each.kernel.worker({ serve: [none, double] });
    expect(await each.kernel.execute(none, undefined, { timeout: "2m" })).toBe(0);
  });
});

describe("a race", () => {
  test("has the winner that was recorded, however often the code runs again", async () => {
    const racing = workflow("racing", { version: 1 }).run(async (ctx) => {
      const { winner } = await ctx.race("first", {
        time: ctx.sleep("time", "1ms"),
        signal: ctx.waitSignal("late"),
      });
      const { status } = await ctx.waitSignal("end");
      return [winner, status];
    });
    const one = await each.kernel.worker({ serve: [racing] });
    const run = await each.kernel.start(racing, undefined, { runId: "race" });
    await expect.poll(async () => (await run.get()).why).toContain('"end"');
    await one.close();
    await run.signal("late");
    await run.signal("end");
    await each.kernel.worker({ serve: [racing] });
    expect(await run.result({ timeout: "2m" })).toEqual(["time", "received"]);
  });
});
