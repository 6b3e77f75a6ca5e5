import { CallFailed, Fatal, isOk, JoinFailed, json, task, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

const CANCELLED = 10; // TaskStatus of proto/pawl/v1/run.proto

/** Fails below zero; above ten it never ends by itself. */
const half = task("half", { input: json<number>() }).run(async (ctx, n) => {
  if (n < 0) throw new Fatal(`no half of ${n}`);
  if (n > 10) await ctx.waitSignal("never");
  return n / 2;
});

describe("a map", () => {
  test("of 5,000 items gives every value, in their order", async () => {
    const items = Array.from({ length: 5_000 }, (_, n) => n);
    const one = task("one", { input: json<number>() }).run((_ctx, n) => n + 1);
    const many = workflow("many", { version: 1 }).run(async (ctx) => {
      const done = await ctx.map("m", items, { key: String }, (n) => ctx.call(one, n));
      return { isAsExpected: done.every((item, n) => isOk(item) && item.value === n + 1) };
    });
    await each.kernel.worker({ serve: [many, one], slots: 100 });
    expect(await each.kernel.execute(many, undefined, timeout)).toEqual({ isAsExpected: true });
  });

  test("runs no more items at a time than its concurrency", async () => {
    let now = 0;
    let most = 0;
    const bounded = workflow("bounded", { version: 1 }).run(async (ctx) => {
      const done = await ctx.map("m", [1, 2, 3, 4, 5], { key: String, concurrency: 2 }, (n) =>
        ctx.step("s", async () => {
          most = Math.max(most, ++now);
          await new Promise(setImmediate);
          now--;
          return n;
        }),
      );
      return done.filter(isOk).map(({ value }) => value);
    });
    await each.kernel.worker({ serve: [bounded] });
    expect(await each.kernel.execute(bounded, undefined, timeout)).toEqual([1, 2, 3, 4, 5]);
    expect(most).toBe(2);
  });

  test("of nothing is enough for at least none, and too little for one", async () => {
    const items: readonly number[] = [];
    const empty = workflow("empty", { version: 1 }).run(async (ctx) => {
      const key = { key: String };
      const none = await ctx.map("none", items, { ...key, join: { atLeast: 0 } }, async () => 1);
      const all = await ctx.all([]);
      const one = await ctx
        .map("one", items, { ...key, join: { atLeast: 1 } }, async () => 1)
        .catch((error: unknown) => (error instanceof JoinFailed ? error.message : "another"));
      return [none.length, all.length, typeof one === "string" ? one : one.length];
    });
    await each.kernel.worker({ serve: [empty] });
    expect(await each.kernel.execute(empty, undefined, timeout)).toEqual([
      0,
      0,
      'Expected at least 1 items of map "one" to succeed, but 0 did and 0 failed.',
    ]);
  });
});

describe("a map that has enough", () => {
  test("gives the others up: their code goes no further, and the function may return", async () => {
    const went: string[] = [];
    const enough = workflow("enough", { version: 1 }).run(async (ctx) => {
      const slow = {
        step: () => ctx.step("slow", () => new Promise<number>(() => undefined)),
        nap: () => ctx.sleep("nap", "150ms"),
        signal: () => ctx.waitSignal("never"),
        call: () => ctx.call(half, 11),
        quick: () => ctx.step("quick", () => 1),
      };
      const items = ["step", "nap", "signal", "call", "quick"] as const;
      const options = { key: String, join: { atLeast: 1 } };
      const done = await ctx.map("try", items, options, async (how) => {
        await slow[how]();
        await ctx.step("after", () => went.push(how));
        return how;
      });
      await ctx.sleep("longer", "400ms");
      return done.map(({ key, status }) => `${key} ${status}`);
    });
    await each.kernel.worker({ serve: [enough, half] });
    const run = await each.kernel.start(enough, undefined, { runId: "e" });
    expect(await run.result(timeout)).toEqual([
      "step missing",
      "nap missing",
      "signal missing",
      "call missing",
      "quick ok",
    ]);
    expect(went).toEqual(["quick"]);
    expect((await run.task("try/call/half")).status).toBe(CANCELLED);
  });

  test("gives up what is nested in them, too", async () => {
    const nested = workflow("nested", { version: 1 }).run(async (ctx) => {
      const key = { key: String };
      const done = await ctx.map("out", [1, 11], { ...key, join: { atLeast: 1 } }, async (n) => {
        const inner = await ctx.map("in", [n, n + 1], key, (m) => ctx.call(half, m));
        return inner.filter(isOk).map(({ value }) => value);
      });
      await ctx.sleep("so that what is given up has its end", "50ms");
      return done.filter(isOk).flatMap(({ value }) => value);
    });
    await each.kernel.worker({ serve: [nested, half] });
    const run = await each.kernel.start(nested, undefined, { runId: "n" });
    expect(await run.result(timeout)).toEqual([0.5, 1]);
    for (const key of ["11", "12"]) {
      expect((await run.task(`out/11/in/${key}/half`)).status).toBe(CANCELLED);
    }
  });
});

describe("all", () => {
  test("gives the values in order, and throws the first failure at once", async () => {
    const failing = workflow("failing", { version: 1 }).run(async (ctx) => {
      const good = await ctx.all([ctx.call(half, 2), ctx.step("s", () => "x"), 7]);
      try {
        await ctx.all([ctx.call(half, 12, { key: "long" }), ctx.call(half, -1, { key: "bad" })]);
        return [];
      } catch (error) {
        return [...good, error instanceof CallFailed ? error.task : "another"];
      }
    });
    await each.kernel.worker({ serve: [failing, half] });
    expect(await each.kernel.execute(failing, undefined, timeout)).toEqual([1, "x", 7, "half/bad"]);
  });

  test("throws the failure that was recorded first, also when the code runs again", async () => {
    const seen: string[] = [];
    const twice = workflow("twice", { version: 1 }).run(async (ctx) => {
      const slow = ctx.call(waiting, -1, { key: "a" });
      const quick = ctx.call(half, -2, { key: "b" });
      const first = await ctx.all([slow, quick]).catch((error: unknown) => error);
      seen.push(first instanceof CallFailed ? first.task : "another");
      await slow.catch(() => undefined);
      await ctx.waitSignal("end");
      return seen.length;
    });
    const waiting = task("waiting", { input: json<number>() }).run(async (ctx) => {
      await ctx.waitSignal("fail");
      throw new Fatal("late");
    });
    await each.kernel.worker({ serve: [twice, half, waiting], warmBytesMax: 0 });
    const run = await each.kernel.start(twice, undefined, { runId: "t" });
    await expect.poll(() => seen.length).toBeGreaterThan(0);
    await run.signal("fail");
    await expect.poll(async () => (await run.get()).why).toContain('"end"');
    await run.signal("end");
    expect(await run.result(timeout)).toBeGreaterThan(1);
    expect(new Set(seen)).toEqual(new Set(["half/b"]));
  });
});

describe("a race", () => {
  test("of a call and a sleep: the call that lost goes on, may still be awaited, and ends with the function", async () => {
    const racing = workflow("racing", { version: 1 }).run(async (ctx) => {
      const patient = ctx.call(half, 11, { key: "patient" });
      const first = await ctx.race("first", { call: patient, time: ctx.sleep("time", "1ms") });
      const quick = ctx.call(half, 4, { key: "quick" });
      const second = await ctx.race("second", { call: quick, time: ctx.sleep("more", "1h") });
      return [first.winner, second.winner === "call" ? second.value : 0];
    });
    await each.kernel.worker({ serve: [racing, half] });
    const run = await each.kernel.start(racing, undefined, { runId: "r" });
    expect(await run.result(timeout)).toEqual(["time", 2]);
    expect((await run.task("half/patient")).status).toBe(CANCELLED);
  });

  test("is won by a failure, which is thrown", async () => {
    const lost = workflow("lost", { version: 1 }).run((ctx) =>
      ctx
        .race("first", { call: ctx.call(half, -1), time: ctx.sleep("time", "1h") })
        .then(({ winner }) => winner)
        .catch((error: unknown) => (error instanceof CallFailed ? error.task : "another")),
    );
    await each.kernel.worker({ serve: [lost, half] });
    expect(await each.kernel.execute(lost, undefined, timeout)).toBe("half");
  });

  test("for any success passes failures over; when all fail, all are told in the order of the entries", async () => {
    const any = workflow("any", { version: 1 }).run(async (ctx) => {
      const bad = (key: string): Promise<number> => ctx.call(half, -1, { key });
      const { winner, value } = await ctx.any("one", { bad: bad("0"), good: ctx.call(half, 6) });
      const failed = await ctx
        .any("none", { x: bad("1"), y: bad("2"), z: bad("3") })
        .catch((error: unknown) => error);
      const errors: unknown[] = failed instanceof AggregateError ? failed.errors : [];
      return [
        winner,
        value,
        ...errors.map((error) => (error instanceof CallFailed ? error.task : "")),
      ];
    });
    await each.kernel.worker({ serve: [any, half] });
    expect(await each.kernel.execute(any, undefined, timeout)).toEqual([
      "good",
      3,
      "half/1",
      "half/2",
      "half/3",
    ]);
  });
});
