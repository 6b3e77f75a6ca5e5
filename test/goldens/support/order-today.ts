import {
  isOk,
  type Operation,
  type ServedTask,
  type TaskRef,
  type WorkflowContext,
} from "@pawl/sdk";
import { courier, print, refund, reserve, weigh } from "../histories/order-1/code.js";

type Order = { readonly item: string; readonly cents: number };

/** What of the code of histories/order-1 is otherwise today. */
export interface Change {
  /** Done before everything else. */
  readonly first?: (ctx: WorkflowContext) => Promise<unknown>;
  /** Done between the answer and the proposal. */
  readonly afterAnswer?: (ctx: WorkflowContext) => Promise<unknown>;
  /** Done between the approval and the label. */
  readonly afterApproval?: (ctx: WorkflowContext) => Promise<unknown>;
  /** Done after everything else. */
  readonly last?: (ctx: WorkflowContext) => Promise<unknown>;
  readonly reserved?: number;
  readonly payment?: Operation<{ readonly cents: number }, string>;
  readonly weighed?: TaskRef<string, number>;
  /** Stands behind each item that is weighed. */
  readonly suffix?: string;
  readonly van?: ServedTask<undefined, unknown>;
  /** Stands in for the wait for the signal. */
  readonly ship?: (ctx: WorkflowContext) => Promise<unknown>;
  /** Lines that are gone. */
  readonly without?: readonly ("reserve" | "weigh" | "approve" | "van" | "price" | "version")[];
}

/** The code of histories/order-1 as it may stand some commits later. Without a change it asks for the same as that. */
export function orderWith(change: Change): (ctx: WorkflowContext, order: Order) => Promise<string> {
  const has = (line: NonNullable<Change["without"]>[number]): boolean =>
    change.without?.includes(line) !== true;
  return async (ctx, { item, cents }) => {
    await change.first?.(ctx);
    const price = has("price") ? await ctx.step("price", () => cents * 2) : cents * 2;
    await ctx.read("stock", () => 7);
    if (has("reserve")) {
      await ctx.perform(reserve, { cents: change.reserved ?? price }, { target: "warehouse" });
    }
    const sizes = has("weigh") ? await weighEach(ctx, item, change) : 0;
    const winner = await waitForAnswer(ctx);
    await change.afterAnswer?.(ctx);
    if (has("approve")) await pay(ctx, price, change.payment ?? refund);
    await change.afterApproval?.(ctx);
    if (has("version")) await ctx.version("loud");
    await ctx.perform(print, { cents: 1 }, { target: "printer" });
    const { ship = waitForSignal } = change;
    await ship(ctx);
    if (has("van")) await ctx.child(change.van ?? courier, undefined, { name: "van" });
    await change.last?.(ctx);
    return `${winner} ${sizes}`;
  };
}

async function waitForAnswer(ctx: WorkflowContext): Promise<string> {
  const { winner } = await ctx.race("first", {
    nap: ctx.sleep("nap", "1h"),
    never: ctx.waitSignal("never"),
  });
  await ctx.ask("gift", { question: "Is it a gift?" });
  return winner;
}

function waitForSignal(ctx: WorkflowContext): Promise<unknown> {
  return ctx.waitSignal("ship");
}

async function weighEach(ctx: WorkflowContext, item: string, change: Change): Promise<number> {
  const items = [item, `${item}!`];
  const { weighed = weigh, suffix = "" } = change;
  const sizes = await ctx.map("weigh", items, { key: (what) => what }, (what) =>
    ctx.call(weighed, `${what}${suffix}`),
  );
  return sizes.filter(isOk).reduce((total, { value }) => total + value, 0);
}

async function pay(
  ctx: WorkflowContext,
  cents: number,
  payment: Operation<{ readonly cents: number }, string>,
): Promise<void> {
  const how = { target: "bank", key: "pay", from: ["role:x"], requesterMayDecide: true } as const;
  const decided = await ctx.approve(payment, { cents }, how);
  if (decided.status === "approved") await decided.perform();
}
