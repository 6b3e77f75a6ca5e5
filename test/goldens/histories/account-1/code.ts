import { json, update, type WorkflowContext, workflow } from "@pawl/sdk";
import type { Golden } from "../../support/golden.js";

/* Made the histories beside it. It stays as it is. */

interface Account {
  readonly cents: number;
}

const move = update("move", { input: json<number>(), result: json<number>() });

/** Takes two movements in each incarnation; ends with nothing left. */
async function code(ctx: WorkflowContext, { cents }: Account): Promise<string> {
  let left: number = cents;
  for (const key of ["1", "2"]) {
    const asked = await ctx.waitUpdate(move, { key });
    if (left + asked.value < 0) {
      await asked.refuse(`There are ${left} cents.`);
      continue;
    }
    left += await ctx.step("move", { key }, () => asked.value);
    ctx.publish("left", left);
    await asked.accept(left);
  }
  if (left === 0) return `empty after ${ctx.incarnation}`;
  return ctx.continueAsNew({ cents: left });
}

/** An account that is moved by updates and continues as new. */
export const golden: Golden<Account, string> = {
  code,
  serve: (served, unvisited = "review") =>
    workflow("golden.account", { version: 1, input: json<Account>(), unvisited }).run(served),
  play: async (env, keep) => {
    const workflowOf = golden.serve(code);
    await env.worker({ serve: [workflowOf], name: "golden" });
    const run = await env.kernel.start(workflowOf, { cents: 5 }, { runId: "account" });
    const send = async (updateId: string, value: number): Promise<void> => {
      const asked = run.update(move, value, { updateId }).catch(() => undefined);
      await env.settle();
      await asked;
    };
    await send("u1", 2);
    await send("u2", -9);
    await send("u3", -7);
    await keep("waits", "account");
    await send("u4", -1);
    await run.result();
    await keep("ended", "account");
  },
  ends: { waits: "goes on", ended: "returned empty after 2" },
};
