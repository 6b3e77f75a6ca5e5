import { Fatal, json, operation, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

/** What was done at the sink, in order. */
let done: unknown[] = [];
const pay = operation("pay", {
  payload: json<{ cents: number }>(),
  result: json<{ id: string }>(),
  callTimeout: "5s",
  sink: { kind: "opaque" },
  call: async ({ payload }) => {
    done.push(payload);
    return { id: `receipt ${done.length}` };
  },
});

describe("a function that goes back", () => {
  test("makes its steps anew and reuses the effect after the point under its key", async () => {
    done = [];
    let draws = 0;
    const order = workflow("order", { version: 1 }).run(async (ctx) => {
      const first = await ctx.step("first", () => ++draws);
      const second = await ctx.step("second", () => ++draws);
      const { id } = await ctx.perform(pay, { cents: 5 }, { target: "till" });
      return { first, second, id };
    });
    await each.kernel.worker({ serve: [order] });
    const run = await each.kernel.start(order, undefined, { runId: "reused" });
    expect(await run.result(timeout)).toEqual({ first: 1, second: 2, id: "receipt 1" });
    const to = { task: "main", record: "second" };
    const dry = await run.rewind({ to, dryRun: true });
    expect(dry.outcome?.operations.map(({ status }) => status)).toEqual(["OBSERVED"]);
    const { generation } = await run.rewind({ to, reason: "drawn wrong" });
    expect(generation).toBe(2);
    const again = each.kernel.run<{ first: number; second: number; id: string }>("reused");
    expect(await again.result(timeout)).toEqual({ first: 1, second: 3, id: "receipt 1" });
    expect(done).toEqual([{ cents: 5 }]);
  });

  test("asks a person when its new content meets an effect that was done, and takes what it did", async () => {
    done = [];
    let quoted = 5;
    const order = workflow("order", { version: 1 }).run(async (ctx) => {
      const cents = await ctx.read("quote", () => quoted);
      const { id } = await ctx.perform(pay, { cents }, { target: "till" });
      return { cents, id };
    });
    await each.kernel.worker({ serve: [order] });
    const run = await each.kernel.start(order, undefined, { runId: "other-content" });
    expect(await run.result(timeout)).toEqual({ cents: 5, id: "receipt 1" });
    quoted = 7;
    await run.rewind({ to: { task: "main" } });
    let reviewId = "";
    await expect
      .poll(async () => {
        for await (const review of each.kernel.reviews.list()) reviewId = review.reviewId;
        return reviewId;
      })
      .not.toBe("");
    const review = await each.kernel.reviews.get(reviewId);
    await each.kernel.reviews.resolve(review, { choice: "accept", reason: "paid is paid" });
    const again = each.kernel.run<{ cents: number; id: string }>("other-content");
    expect(await again.result(timeout)).toEqual({ cents: 7, id: "receipt 1" });
    expect(done).toEqual([{ cents: 5 }]);
  });

  test("takes a signal again that it had taken after the point", async () => {
    const greeted: string[] = [];
    const hello = workflow("hello", { version: 1 }).run(async (ctx) => {
      const said = await ctx.waitSignal("name", { schema: json<string>() });
      const name = said.status === "received" ? said.value : "";
      await ctx.step("greet", () => {
        greeted.push(name);
        return true;
      });
      return name;
    });
    await each.kernel.worker({ serve: [hello] });
    const run = await each.kernel.start(hello, undefined, { runId: "signalled" });
    await run.signal("name", "Ada");
    expect(await run.result(timeout)).toBe("Ada");
    const { outcome } = await run.rewind({ to: { task: "main" } });
    expect(outcome?.messages).toMatchObject([{ kind: "signal", name: "name", unread: true }]);
    expect(await each.kernel.run<string>("signalled").result(timeout)).toBe("Ada");
    expect(greeted).toEqual(["Ada", "Ada"]);
  });
});

describe("a function that is tried again", () => {
  test("runs over its records, and repeats only the step that failed for good", async () => {
    done = [];
    let draws = 0;
    let isMended = false;
    const order = workflow("order", { version: 1 }).run(async (ctx) => {
      const first = await ctx.step("first", () => ++draws);
      const { id } = await ctx.perform(pay, { cents: 5 }, { target: "till" });
      const second = await ctx.step("second", () => {
        if (!isMended) throw new Fatal("broken");
        return ++draws;
      });
      return { first, second, id };
    });
    await each.kernel.worker({ serve: [order] });
    const run = await each.kernel.start(order, undefined, { runId: "retried" });
    await expect(run.result(timeout)).rejects.toThrow("broken");
    isMended = true;
    expect((await run.retry({ reason: "mended" })).generation).toBe(2);
    const again = each.kernel.run<{ first: number; second: number; id: string }>("retried");
    expect(await again.result(timeout)).toEqual({ first: 1, second: 2, id: "receipt 1" });
    expect(done).toEqual([{ cents: 5 }]);
  });
});
