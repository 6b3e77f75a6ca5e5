import { json, operation, workflow } from "@pawl/sdk";
import { everyCrashWindow, openTestEnvironment, testSink } from "@pawl/sdk/testing";
import { expect, test } from "vitest";
import "@pawl/sdk/testing/vitest";

const bank = testSink({ name: "bank" });

const charge = operation("payments.charge", {
  payload: json<{ readonly cents: number }>(),
  result: json<{ readonly receipt: string }>(),
  sink: { kind: "reconcilable" },
  call: (op) => bank.call(op, () => ({ receipt: `r-${op.payload.cents}` })),
  lookup: (op) => bank.lookup<{ receipt: string }>(op),
});

const order = workflow("order", { version: 1, input: json<{ readonly cents: number }>() }).run(
  async (ctx, { cents }) => {
    const { receipt } = await ctx.perform(charge, { cents }, { target: "card" });
    const shipped = await ctx.waitSignal<string>("shipped", { timeout: "7d" });
    return { receipt, by: shipped.status === "received" ? shipped.value : "nobody" };
  },
);

test("an order that nobody ships ends after a week", async () => {
  await using env = await openTestEnvironment();
  await env.worker({ serve: [order] });
  const run = await env.kernel.start(order, { cents: 42 }, { runId: "order-1" });
  await env.advance("6d");
  expect((await run.get()).why).toContain('waits for signal "shipped"');
  await env.advance("1d");
  expect(await run.result()).toEqual({ receipt: "r-42", by: "nobody" });
});

test("a machine that dies after the charge charges nothing twice", async () => {
  await using env = await openTestEnvironment();
  await env.worker({ serve: [order] });
  env.crashAt({ when: "after", what: "sink", name: "payments.charge" }, { kill: "both" });
  expect(await env.kernel.execute(order, { cents: 42 })).toMatchObject({ receipt: "r-42" });
  expect(env.effects(bank)).toEqual([{ key: expect.stringContaining("charge"), times: 1 }]);
});

test("an order ends the same, whatever dies at whatever point", async () => {
  await everyCrashWindow(async (env) => {
    await env.worker({ serve: [order] });
    const run = await env.kernel.start(order, { cents: 42 }, { runId: "order-1" });
    await env.settle();
    await run.signal("shipped", "van 7", { requestId: "scan-1" });
    return run.result();
  });
});

test("an order survives every crash, in one line", async () => {
  await expect(order).toSurviveEveryCrash({ input: { cents: 42 }, sinkEffects: 1 });
});
