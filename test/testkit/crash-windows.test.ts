import { json, operation, task, workflow } from "@pawl/sdk";
import {
  CrashWindowsDiffer,
  everyCrashWindow,
  surviveEveryCrash,
  testSink,
} from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";
import "@pawl/sdk/testing/vitest";

const bank = testSink({ name: "bank" });
const mail = testSink({ name: "mail", honoursKeys: true });

const charge = operation("payments.charge", {
  payload: json<{ readonly cents: number }>(),
  result: json<{ readonly receipt: string }>(),
  sink: { kind: "reconcilable" },
  call: (op) => bank.call(op, () => ({ receipt: `r-${op.payload.cents}` })),
  lookup: (op) => bank.lookup<{ receipt: string }>(op),
});

const send = operation("mail.send", {
  payload: json<{ readonly to: string }>(),
  result: json<{ readonly id: number }>(),
  sink: { kind: "idempotent", keyWindow: "24h" },
  call: (op) => mail.call(op, () => ({ id: 7 })),
});

const weigh = task("weigh", { input: json<string>() }).run((_ctx, item) => item.length);

const order = workflow("order", { version: 1, input: json<{ readonly items: string[] }>() }).run(
  async (ctx, { items }) => {
    const weights = await ctx.map("weigh", items, { key: (item) => item }, (item) =>
      ctx.call(weigh, item),
    );
    const cents = await ctx.step("price", () => weights.length * 100);
    const { receipt } = await ctx.perform(charge, { cents }, { target: "card" });
    await ctx.sleep("cool off", "3d");
    const go = await ctx.waitSignal<string>("ship");
    await ctx.perform(send, { to: "ana" }, { target: "mail" });
    return { receipt, by: go.status === "received" ? go.value : "" };
  },
);

describe("a workflow of steps, operations, calls and waits", () => {
  test("ends the same whatever dies at whatever point", { timeout: 120_000 }, async () => {
    const report = await everyCrashWindow(async (env) => {
      await env.worker({ serve: [order, weigh] });
      const run = await env.kernel.start(order, { items: ["tea", "cup"] }, { runId: "o-1" });
      await env.settle();
      await run.signal("ship", "van", { requestId: "s-1" });
      await env.advance("3d");
      return run.result();
    });
    const names = report.points.map(({ when, what, name }) => `${when} ${what} ${name}`.trim());
    expect(names).toContain("after sink payments.charge");
    expect(names).toContain("before suspend ship");
    expect(report.windows.filter(({ hasCrashed }) => !hasCrashed)).toEqual([]);
    expect(report.effects).toBe(2);
  });
});

describe("the kit finds", () => {
  const effectOutside = workflow("effect-outside", { version: 1 }).run(async (ctx) => {
    await ctx.step("prepare", () => 1);
    bank.call({ key: "charged by hand" }, () => null); // Neither a step nor an operation.
    await ctx.step("note", () => 2);
    return "done";
  });

  test("an effect that is neither in a step nor an operation", async () => {
    const failure = await surviveEveryCrash(effectOutside).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CrashWindowsDiffer);
    expect(String(failure)).toContain('worker dies before step "note" of task "main"');
    expect(String(failure)).toContain("charged by hand × 2");
  });

  test("an effect in a step, which is run again when its record was lost", async () => {
    const effectInStep = workflow("effect-in-step", { version: 1 }).run((ctx) =>
      ctx.step("charge", () => bank.call({ key: "k" }, () => 1)),
    );
    await expect(surviveEveryCrash(effectInStep)).rejects.toThrow("k × 2");
  });

  test("an operation that says its sink honours keys when it does not", async () => {
    const liar = operation("liar.charge", {
      payload: json<number>(),
      result: json<number>(),
      sink: { kind: "idempotent", keyWindow: "1h" },
      call: (op) => bank.call(op, () => 1),
    });
    const pays = workflow("pays", { version: 1 }).run((ctx) =>
      ctx.perform(liar, 1, { target: "x" }),
    );
    await expect(surviveEveryCrash(pays)).rejects.toThrow('worker dies after sink "liar.charge"');
  });

  test("a value that is drawn anew at each execution", async () => {
    let drawn = 0;
    const fickle = workflow("fickle", { version: 1 }).run(async (ctx) => {
      const number = ++drawn; // Not recorded.
      await ctx.sleep("nap", "1m");
      return ctx.step("keep", () => number > 0);
    });
    await surviveEveryCrash(fickle);
    expect(drawn).toBeGreaterThan(10);
  });
});

describe("toSurviveEveryCrash", () => {
  const pay = workflow("pay", { version: 1, input: json<number>() }).run((ctx, cents) =>
    ctx.perform(charge, { cents }, { target: "card" }),
  );

  test("passes for a workflow whose effects are operations", async () => {
    await expect(pay).toSurviveEveryCrash({ input: 5, sinkEffects: 1 });
  });

  test("fails for another number of effects than there are", async () => {
    await expect(expect(pay).toSurviveEveryCrash({ input: 5, sinkEffects: 2 })).rejects.toThrow(
      "Expected 2 effects in all test sinks together, but there were 1",
    );
  });
});
