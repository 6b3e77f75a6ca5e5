import { Conflict, type Operation, type ServedTask } from "@pawl/sdk";
import type { ApprovalSettings } from "./child-settings.js";
import { type Filed, file, type Order } from "./plan.js";

/** The handler that asks a person before it performs the effect. */
export function fileWhenApproved(
  operation: Operation<Order, Filed>,
  settings: ApprovalSettings,
): ServedTask {
  const { need, requesterMayDecide, expiresIn, stopsWhenApproved, suffix } = settings;
  const terms = { target: "tickets", need, requesterMayDecide, expiresIn } as const;
  return file.run(async (ctx, order) => {
    const now = { title: `${order.title}${suffix}` };
    const shown = await ctx.step("content", () => now);
    const said = await ctx.approve(operation, shown, terms);
    if (said.status !== "approved") return { id: `none: ${said.status}` };
    if (stopsWhenApproved) await tellAndStop();
    if (now.title === shown.title) return said.perform();
    try {
      // What a careless program does: it acts on what is so now, though something else was approved.
      return await ctx.perform(operation, now, { target: "tickets" });
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      process.stdout.write(`${JSON.stringify({ refused: error.code })}\n`);
    }
    const changed = await ctx.step("changed content", () => now);
    const again = await ctx.approve(operation, changed, { ...terms, revises: said });
    return again.status === "approved" ? again.perform() : { id: `none: ${again.status}` };
  });
}

/** Tells the demo that it was approved, and does nothing more until it is killed. */
function tellAndStop(): Promise<never> {
  process.stdout.write(`${JSON.stringify({ approved: true })}\n`);
  return new Promise(() => undefined);
}
