import { isOk, json, operation, task, type WorkflowContext, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { failureOf } from "./support/run-code.js";

const each = eachEmbedded();

const double = task("double", { input: json<number>() }).run((_ctx, n) => n * 2);

/** How a run of this code fails. */
async function messageOf(code: (ctx: WorkflowContext) => Promise<null>): Promise<string> {
  const failing = workflow("failing", { version: 1 }).run(code);
  return (await failureOf(each.kernel, [failing, double])).message;
}

describe("the same name twice", () => {
  const both = /names\.test\.ts:\d+:\d+.*then .*names\.test\.ts:\d+:\d+/;

  test("of steps is refused with both places", async () => {
    const message = await messageOf(async (ctx) => {
      await ctx.step("draw", () => 1);
      await ctx.step("draw", () => 2);
      return null;
    });
    expect(message).toContain('Expected each step to have a name of its own, but "draw" is used');
    expect(message).toMatch(both);
  });

  test("of calls is refused with both places, and a key tells them apart", async () => {
    const message = await messageOf(async (ctx) => {
      await ctx.call(double, 1);
      await ctx.call(double, 2, { key: "again" });
      await ctx.call(double, 2);
      return null;
    });
    expect(message).toContain('Expected each call to have a name of its own, but "double" is used');
    expect(message).toMatch(both);
  });

  test("of waits of any kind is refused with both places", async () => {
    const message = await messageOf(async (ctx) => {
      await ctx.sleep("pause", "1ms");
      await ctx.waitSignal("pause");
      return null;
    });
    expect(message).toContain('Expected each wait to have a name of its own, but "pause" is used');
    expect(message).toMatch(both);
  });

  test("of maps is refused, as is a key twice in a map", async () => {
    const key = { key: String };
    const message = await messageOf(async (ctx) => {
      await ctx.map("m", [1], key, async () => 1);
      await ctx.map("m", [2], key, async () => 1);
      return null;
    });
    expect(message).toContain('Expected each map to have a name of its own, but "m" is used');
  });
});

test("two items of a map with one key are refused before anything of them runs", async () => {
  let ran = 0;
  const message = await messageOf(async (ctx) => {
    await ctx.map("m", ["a", "b", "a"], { key: (item) => item }, async () => ++ran);
    return null;
  });
  expect(message).toContain(
    'Expected each item of map "m" to have a key of its own, but "a" comes twice.',
  );
  expect(ran).toBe(0);
});

describe("names inside of maps", () => {
  test("are the path of names and keys around them, escaped", async () => {
    const nested = workflow("nested", { version: 1 }).run(async (ctx) => {
      const outer = await ctx.map("out/er", ["a/b", "c"], { key: (k) => k }, async (one) => {
        const inner = await ctx.map("inner", [1, 2], { key: String }, async (n) => {
          const plus = await ctx.step("plus", () => n + 1);
          return (await ctx.call(double, plus, { key: "k" })) + one.length;
        });
        return inner.filter(isOk).map(({ key, value }) => `${one} ${key} ${value}`);
      });
      return outer.filter(isOk).flatMap(({ value }) => value);
    });
    await each.kernel.worker({ serve: [nested, double] });
    const run = await each.kernel.start(nested, undefined, { runId: "n" });
    expect(await run.result({ timeout: "2m" })).toEqual(["a/b 1 7", "a/b 2 9", "c 1 5", "c 2 7"]);
    const steps: string[] = [];
    for await (const { step } of run.watch()) if (step !== "") steps.push(step);
    expect(new Set(steps)).toEqual(
      new Set([
        "out%2Fer/a%2Fb/inner/1/plus",
        "out%2Fer/a%2Fb/inner/2/plus",
        "out%2Fer/c/inner/1/plus",
        "out%2Fer/c/inner/2/plus",
      ]),
    );
    expect((await run.task("out%2Fer/c/inner/2/double/k")).kind).toBe("double");
  });

  test("may be long: what does not fit stands in a hash, at every level", async () => {
    const long = (letter: string): string => letter.repeat(180);
    const wide = workflow("wide", { version: 1 }).run(async (ctx) => {
      const keyed = await ctx.call(double, 1, { key: long("k") });
      const found = await ctx.map(
        long("m"),
        ["x", "y"],
        { key: (k) => long(k) },
        async (_k, key) => {
          await ctx.sleep(long("w"), "1ms");
          const drawn = await ctx.step(long("s"), () => key.length);
          const put = await ctx.perform(file, { drawn }, { target: "files" });
          return [drawn, put, await ctx.call(double, drawn, { key: long("c") })];
        },
      );
      return [keyed, ...found.map((item) => (item.status === "ok" ? item.value : item.status))];
    });
    const file = operation("file", {
      payload: json<{ readonly drawn: number }>(),
      result: json<number>(),
      sink: { kind: "idempotent", keyWindow: "1d" },
      call: (op) => op.payload.drawn,
    });
    await each.kernel.worker({ serve: [wide, double] });
    expect(await each.kernel.execute(wide, undefined, { timeout: "2m" })).toEqual([
      2,
      [180, 180, 360],
      [180, 180, 360],
    ]);
  });

  test("do not reach into the key of an effect that is the namespace's", async () => {
    const keys: string[] = [];
    const pay = operation("pay", {
      payload: json<{ readonly cents: number }>(),
      result: json<string>(),
      sink: { kind: "idempotent", keyWindow: "1d" },
      call: (op) => {
        keys.push(op.key);
        return op.key;
      },
    });
    const paying = workflow("paying", { version: 1 }).run(async (ctx) => {
      await ctx.map("bills", ["7"], { key: (k) => k }, (id) =>
        ctx.perform(pay, { cents: 1 }, { target: "t", scope: "namespace", key: `bill-${id}` }),
      );
    });
    await each.kernel.worker({ serve: [paying] });
    await each.kernel.execute(paying, undefined, { timeout: "2m" });
    expect(keys).toEqual(["namespace/default/pay/bill-7"]);
  });
});

test("a called workflow calls under its own name: what its caller called is another task", async () => {
  const inner = workflow("inner", { version: 1, input: json<number>() }).run((ctx, n) =>
    ctx.call(double, n),
  );
  const outer = workflow("outer", { version: 1 }).run(async (ctx) => {
    const mine = await ctx.call(double, 1);
    return [mine, await ctx.call(inner, 10), await ctx.call(inner, 20, { key: "2" })];
  });
  await each.kernel.worker({ serve: [inner, outer, double] });
  const run = await each.kernel.start(outer, undefined, { runId: "o" });
  expect(await run.result({ timeout: "2m" })).toEqual([2, 20, 40]);
  expect((await run.task("inner/2/double")).kind).toBe("double");
});
