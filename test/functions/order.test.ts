import { json, operation, type PerformOptions, Refused, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();

/** Something that ends when the test says so. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("a function that runs again is given the outcomes of its operations in the order of the first time", () => {
  test.each(["task", "run", "namespace"] as const)("in scope %s", async (scope) => {
    const slow = gate();
    let calls = 0;
    let given: readonly string[] = [];
    const send = operation("send", {
      payload: json<{ readonly to: string }>(),
      result: json<string>(),
      sink: { kind: "reconcilable", settle: "0s" },
      call: async ({ payload }) => {
        calls++;
        if (payload.to === "slow") await slow.opened;
        return payload.to;
      },
      lookup: () => "unknown" as const,
    });
    const options = (key: string): PerformOptions => ({
      target: "t",
      scope,
      key: `${scope} ${key}`,
    });
    const racing = workflow("racing", { version: 1 }).run(async (ctx) => {
      const seen: string[] = [];
      given = seen;
      await ctx.all([
        ctx.perform(send, { to: "slow" }, options("slow")).then((to) => seen.push(to)),
        ctx.sleep("nap", "10ms").then(() => seen.push("nap")),
        ctx.perform(send, { to: "fast" }, options("fast")).then((to) => seen.push(to)),
        ctx.waitSignal("now").then(() => {
          seen.push("now");
          slow.open();
        }),
      ]);
      const first = await ctx.step("first", () => seen.join());
      await ctx.waitSignal("end");
      return { first, seen: seen.join() };
    });
    const one = await each.kernel.worker({ serve: [racing] });
    const run = await each.kernel.start(racing, undefined, { runId: `order-${scope}` });
    await expect.poll(() => given.length, { timeout: 30_000 }).toBe(2);
    await run.signal("now");
    await expect.poll(async () => (await run.get()).why, { timeout: 30_000 }).toContain('"end"');
    await one.close();
    await run.signal("end");
    await each.kernel.worker({ serve: [racing] });
    const { first, seen } = await run.result({ timeout: "2m" });
    expect(first).toMatch(/^(fast,nap|nap,fast),now,slow$/);
    expect(seen).toBe(first);
    expect(calls).toBe(2);
  });
});

test.each(["task", "run", "namespace"] as const)(
  "an operation that was refused is refused again when the code performs it again, in scope %s",
  async (scope) => {
    const deny = operation("deny", {
      payload: json<number>(),
      result: json<number>(),
      sink: { kind: "idempotent", keyWindow: "1d" },
      call: () => {
        throw new Refused("no");
      },
    });
    const executions: string[][] = [];
    const persistent = workflow("persistent", { version: 1 }).run(async (ctx) => {
      const given: string[] = [];
      executions.push(given);
      const perform = (): Promise<unknown> =>
        ctx.perform(deny, 1, { target: "t", scope, key: `${scope} k` });
      const note = (error: unknown): unknown =>
        given.push(error instanceof Refused ? "refused" : String(error));
      await perform().catch(note);
      await ctx.step("between", () => given.push("step"));
      await perform().catch(note);
      await ctx.waitSignal("end");
      await perform().catch(note);
      return given.join();
    });
    const one = await each.kernel.worker({ serve: [persistent] });
    const run = await each.kernel.start(persistent, undefined, { runId: `again-${scope}` });
    await expect.poll(async () => (await run.get()).why, { timeout: 30_000 }).toContain('"end"');
    await one.close();
    await run.signal("end");
    await each.kernel.worker({ serve: [persistent] });
    await run.result({ timeout: "2m" });
    expect(executions[0]).toEqual(["refused", "step", "refused"]);
    // A step that is recorded is not made again.
    expect(executions.at(-1)).toEqual(["refused", "refused", "refused"]);
  },
);
