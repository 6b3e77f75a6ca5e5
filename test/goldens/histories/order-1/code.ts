import {
  isOk,
  json,
  type Operation,
  operation,
  type ServedTask,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import type { Golden } from "../../support/golden.js";

/* Made the histories beside it. It stays as it is: what must go on with them is a change of it, and stands in histories.test.ts. */

interface Order {
  readonly item: string;
  readonly cents: number;
}

interface Cents {
  readonly cents: number;
}

const said = { payload: json<Cents>(), result: json<string>() };

/** A refund, which the bank does not repeat under one key. */
export const refund: Operation<Cents, string> = operation("payments.refund", {
  ...said,
  sink: { kind: "idempotent", keyWindow: "24h" },
  call: ({ payload }) => `refunded ${payload.cents}`,
});
/** A place in the warehouse, which can be asked. */
export const reserve: Operation<Cents, string> = operation("stock.reserve", {
  ...said,
  sink: { kind: "reconcilable", settle: "1s" },
  call: ({ payload }) => `reserved ${payload.cents}`,
  lookup: () => "absent",
});
/** A label, of which nobody can tell afterwards. */
export const print: Operation<Cents, string> = operation("label.print", {
  ...said,
  sink: { kind: "opaque" },
  call: ({ payload }) => `printed ${payload.cents}`,
});

/** A task that is called. */
export const weigh: ServedTask<string, number> = task("weigh", { input: json<string>() }).run(
  (_ctx, item) => item.length,
);
/** A child run. */
export const courier: ServedTask<undefined, string> = workflow("courier", { version: 1 }).run(
  async (ctx) => {
    await ctx.sleep("drive", "2h");
    return "delivered";
  },
);

/** One call of nearly every kind. */
async function code(ctx: WorkflowContext, { item, cents }: Order): Promise<string> {
  const at = await ctx.now("at");
  const id = await ctx.uuid("id");
  const drawn = await ctx.random("drawn");
  const price = await ctx.step("price", () => cents * 2);
  const stock = await ctx.read("stock", () => 7);
  ctx.publish("state", { price, stock });
  await ctx.perform(reserve, { cents: price }, { target: "warehouse" });
  const sizes = await ctx.map("weigh", [item, `${item}!`], { key: (what) => what }, (what) =>
    ctx.call(weigh, what),
  );
  const { winner } = await ctx.race("first", {
    nap: ctx.sleep("nap", "1h"),
    never: ctx.waitSignal("never"),
  });
  const asked = await ctx.ask<string>("gift", { question: "Is it a gift?" });
  const decided = await ctx.approve(
    refund,
    { cents: price },
    { target: "bank", key: "pay", from: ["role:x"], requesterMayDecide: true },
  );
  const paid = decided.status === "approved" ? await decided.perform() : decided.status;
  const isLoud = await ctx.version("loud");
  await ctx.perform(print, { cents: isLoud ? 1 : 0 }, { target: "printer" });
  const go = await ctx.waitSignal<string>("ship");
  const delivered = await ctx.child(courier, undefined, { name: "van" });
  const sum = sizes.filter(isOk).reduce((total, { value }) => total + value, 0);
  return [
    at.toISOString(),
    id.length,
    drawn < 1,
    sum,
    winner,
    asked.status === "answered" ? asked.value : asked.status,
    paid,
    go.status === "received" ? go.value : go.status,
    delivered,
  ].join(" | ");
}

/** An order that is refunded after a person approved it, and shipped after a signal. */
export const golden: Golden<Order, string> = {
  code,
  serve: (served, unvisited = "review") =>
    workflow("golden.order", { version: 1, input: json<Order>(), unvisited }).run(served),
  play: async (env, keep) => {
    const workflowOf = golden.serve(code);
    await env.worker({ serve: [workflowOf, weigh, courier], name: "golden" });
    const run = await env.kernel.start(workflowOf, { item: "tea", cents: 3 }, { runId: "order" });
    await env.settle();
    await env.advance("1h");
    await env.settle();
    await keep("asks", "order");
    for await (const input of env.kernel.inputs.list()) {
      await env.kernel.inputs.provide(input.inputId, "a gift", input.version);
    }
    await env.settle();
    await keep("proposes", "order");
    for await (const proposal of env.kernel.approvals.list()) {
      await env.kernel.approvals.approve(proposal);
    }
    await env.settle();
    await keep("waits", "order");
    await run.signal("ship", "by van", { requestId: "ship" });
    await run.result();
    await keep("ended", "order");
  },
  ends: {
    asks: "goes on",
    proposes: "goes on",
    waits: "goes on",
    ended:
      "returned 2026-01-05T00:00:00.000Z | 36 | true | 7 | nap | a gift | refunded 6 | by van | delivered",
  },
};
