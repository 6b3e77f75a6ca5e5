import { json, operation, workflow } from "@pawl/sdk";

const charge = operation("payments.charge", {
  payload: json(),
  result: json(),
  sink: { kind: "idempotent", keyWindow: "24h" },
  call: () => {
    throw new Error("nothing is called in a replay");
  },
});

/** The code that made the history. */
export const shop = workflow("shop", { version: 1, input: json() }).run(async (ctx, { cents }) => {
  const price = await ctx.step("price", () => cents);
  await ctx.perform(charge, { cents: price }, { target: "card" });
  await ctx.waitSignal("ship");
  return "shipped";
});

/** The next version, which charges otherwise. */
export const dearer = workflow("shop", { version: 2, input: json() }).run(
  async (ctx, { cents }) => {
    await ctx.perform(charge, { cents: cents + 1 }, { target: "card" });
    return "shipped";
  },
);
