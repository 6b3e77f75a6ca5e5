import { isOk, json, type Operation, type ServedTask, task, workflow } from "@pawl/sdk";
import type { MergeSettings } from "./child-settings.js";
import type { Filed, Order } from "./plan.js";

const timeouts = { lease: "2s" } as const;

/** What is looked for, side by side. */
export const found = ["a", "b", "c"] as const;

/** A called task of the merge. It ends when the demo lets it, so that the demo knows the order. */
const lookRef = task("demo.look", {
  input: json<string>(),
  output: json<string>(),
  timeouts,
});

/** Its handler, which a worker of its own serves. */
export const look = lookRef.run(async (ctx, what) => {
  await ctx.waitSignal(`look-${what}`);
  return what;
});

/** Calls a task for each, merges what they found, and files it. */
export const gather = workflow("demo.gather", {
  version: 1,
  input: json<Order>(),
  output: json<Filed>(),
  timeouts,
});

/** The code of the coordinator. What it files bears the results in the order in which it was given them. */
export function servedGather(
  create: Operation<Order, Filed>,
  { atLeast, stopsInMerge }: MergeSettings,
): ServedTask {
  return gather.run(async (ctx, { title }) => {
    const order: string[] = [];
    const options = { key: (what: string) => what, join: { atLeast } };
    const results = await ctx.map("found", found, options, async (what) => {
      order.push(await ctx.call(lookRef, what));
    });
    const merged = await ctx.step("merge", async () => {
      if (stopsInMerge) await tellAndStop();
      return { order: order.join(), ok: results.filter(isOk).length };
    });
    return ctx.perform(
      create,
      { title: `${title}: ${merged.order} of ${merged.ok}` },
      { target: "tickets" },
    );
  });
}

/** Tells the demo that it merges, and does nothing more until it is killed. */
function tellAndStop(): Promise<never> {
  process.stdout.write(`${JSON.stringify({ merging: true })}\n`);
  return new Promise(() => undefined);
}
