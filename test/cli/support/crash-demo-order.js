import { json, operation, workflow } from "@pawl/sdk";
import { testSink } from "@pawl/sdk/testing";

const bank = testSink({ name: "bank" });

const charge = operation("payments.charge", {
  payload: json(),
  result: json(),
  sink: { kind: "reconcilable" },
  call: (op) => bank.call(op, () => ({ receipt: `r-${op.payload.cents}` })),
  lookup: (op) => bank.lookup(op),
});

export const order = workflow("order", { version: 1, input: json() }).run(
  async (ctx, { cents }) => {
    const { receipt } = await ctx.perform(charge, { cents }, { target: "card" });
    const shipped = await ctx.waitSignal("shipped", { timeout: "7d" });
    return { receipt, shipped: shipped.status };
  },
);

export const crashDemo = {
  order: {
    input: { cents: 42 },
    meanwhile: (_env, run) => run.signal("shipped", "van 7", { requestId: "scan-1" }),
  },
};
