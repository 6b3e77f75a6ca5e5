import { json, operation, task, workflow } from "@pawl/sdk";
import { openTestEnvironment, testSink } from "@pawl/sdk/testing";
import type { Figures } from "./floors.js";
import { percentile, round } from "./percentile.js";

/** How often the test is run, after some that count nothing. */
export interface TestkitSize {
  readonly warmUps: number;
  readonly times: number;
}

const bank = testSink({ name: "bank" });

const charge = operation("payments.charge", {
  payload: json<{ readonly cents: number }>(),
  result: json<{ readonly receipt: string }>(),
  sink: { kind: "reconcilable" },
  call: (op) => bank.call(op, () => ({ receipt: `r-${op.payload.cents}` })),
  lookup: (op) => bank.lookup<{ receipt: string }>(op),
});

const weigh = task("weigh", { input: json<string>(), output: json<number>() }).run(
  (_ctx, item) => item.length,
);

/** Of each kind something: steps, called tasks, an effect, a week, a signal. */
const order = workflow("order", { version: 1, input: json<readonly string[]>() }).run(
  async (ctx, items) => {
    const cents = await ctx.step("price", () => items.length * 100);
    const weights = await ctx.map("weigh", items, { key: (item) => item }, (item) =>
      ctx.call(weigh, item),
    );
    const { receipt } = await ctx.perform(charge, { cents }, { target: "card" });
    await ctx.sleep("cool off", "7d");
    const shipped = await ctx.waitSignal<string>("shipped");
    return { receipt, by: shipped.status === "received" ? shipped.value : "", of: weights.length };
  },
);

const EXPECTED = JSON.stringify({ receipt: "r-300", by: "van 7", of: 3 });

/** A test of a typical workflow, from its own kernel to its last assertion. */
export async function measureTestkit({ warmUps, times }: TestkitSize): Promise<Figures> {
  const took: number[] = [];
  let wrong = 0;
  for (let time = 0; time < warmUps + times; time++) {
    const beganMs = performance.now();
    const isRight = await runTest();
    if (!isRight) wrong++;
    if (time >= warmUps) took.push(performance.now() - beganMs);
  }
  return {
    ...{ bench: "testkit", load: "single" },
    ...{ p50Ms: round(percentile(took, 0.5)), p95Ms: round(percentile(took, 0.95)), wrong },
  };
}

async function runTest(): Promise<boolean> {
  await using env = await openTestEnvironment();
  await env.worker({ serve: [order, weigh] });
  const run = await env.kernel.start(order, ["tea", "cup", "pot"], { runId: "order-1" });
  await env.advance("7d");
  await run.signal("shipped", "van 7", { requestId: "scan-1" });
  const result = await run.result();
  return (
    JSON.stringify(result) === EXPECTED &&
    env.effects(bank).reduce((sum, { times }) => sum + times, 0) === 1
  );
}
