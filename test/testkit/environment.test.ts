import { json, operation, workflow } from "@pawl/sdk";
import { openTestEnvironment, testSink } from "@pawl/sdk/testing";
import { expect, test } from "vitest";

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
    const price = await ctx.step("price", () => cents + 1);
    const { receipt } = await ctx.perform(charge, { cents: price }, { target: "card" });
    return { receipt };
  },
);

test("runs a workflow to its end", async () => {
  await using env = await openTestEnvironment();
  await env.worker({ serve: [order] });
  expect(await env.kernel.execute(order, { cents: 41 })).toEqual({ receipt: "r-42" });
  expect(env.effects(bank)).toEqual([{ key: expect.any(String), times: 1 }]);
});

test("passes seven days without waiting for them", async () => {
  const patient = workflow("patient", { version: 1 }).run(async (ctx) => {
    await ctx.sleep("week", "7d");
    return "done";
  });
  await using env = await openTestEnvironment({ startAt: new Date("2030-01-01T00:00:00Z") });
  await env.worker({ serve: [patient] });
  const run = await env.kernel.start(patient, undefined, { runId: "r" });
  await env.advance("6d");
  expect((await run.get()).why).toContain("week");
  await env.advance("1d");
  expect(env.now()).toEqual(new Date("2030-01-08T00:00:00Z"));
  expect(await run.result()).toBe("done");
});

test.each(["worker", "kernel", "both"] as const)("survives the death of %s", async (kill) => {
  await using env = await openTestEnvironment();
  await env.worker({ serve: [order] });
  env.crashAt({ when: "after", what: "sink" }, { kill });
  expect(await env.kernel.execute(order, { cents: 41 })).toEqual({ receipt: "r-42" });
  expect(env.hasCrashed).toBe(true);
  expect(env.effects(bank)).toEqual([{ key: expect.any(String), times: 1 }]);
});
