import { Fatal, json, operation, Refused, RunCancelled, RunFailed, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();

/** What reached the sinks, in order. */
let done: string[] = [];

const at = { target: "airline" } as const;
const hold = operation("hold", {
  payload: json<{ readonly seat: string }>(),
  result: json<string>(),
  sink: { kind: "reconcilable", settle: "0s" },
  call: ({ payload }) => {
    done.push(`hold ${payload.seat}`);
    return payload.seat;
  },
  lookup: () => "unknown" as const,
});
const release = operation("release", {
  payload: json<{ readonly seat: string }>(),
  result: json<boolean>(),
  sink: { kind: "reconcilable", settle: "0s" },
  call: ({ payload }) => {
    if (payload.seat === "stuck") throw new Refused("the seat is sold");
    done.push(`release ${payload.seat}`);
    return true;
  },
  lookup: () => "absent" as const,
});

describe("a rollback", () => {
  test("undoes what was done, the latest first, when the function fails for good", async () => {
    done = [];
    const trip = workflow("trip", { version: 1 }).run(async (ctx) => {
      for (const seat of ["1a", "2b"]) {
        await ctx.perform(hold, { seat }, { ...at, key: seat });
        ctx.onRollback(release, { seat }, { ...at, key: seat });
      }
      throw new Fatal("no hotel");
    });
    await each.kernel.worker({ serve: [trip] });
    const run = await each.kernel.start(trip, undefined, { runId: "t" });
    await expect(run.result({ timeout: "30s" })).rejects.toThrow(RunFailed);
    expect(done).toEqual(["hold 1a", "hold 2b", "release 2b", "release 1a"]);
    expect((await run.task("$rollback/main")).kind).toBe("trip@1");
  });

  test("is not done when the function returns, nor for what it did not get to", async () => {
    done = [];
    const trip = workflow("trip", { version: 1, input: json<boolean>() }).run(
      async (ctx, fails) => {
        await ctx.perform(hold, { seat: "1a" }, { ...at, key: "1a" });
        ctx.onRollback(release, { seat: "1a" }, { ...at, key: "1a" });
        if (fails) throw new Fatal("no hotel");
        await ctx.perform(hold, { seat: "2b" }, { ...at, key: "2b" });
        ctx.onRollback(release, { seat: "2b" }, { ...at, key: "2b" });
        return "home";
      },
    );
    await each.kernel.worker({ serve: [trip] });
    expect(await each.kernel.execute(trip, false, { timeout: "30s" })).toBe("home");
    expect(done).toEqual(["hold 1a", "hold 2b"]);
    done = [];
    await expect(each.kernel.execute(trip, true, { timeout: "30s" })).rejects.toThrow(RunFailed);
    expect(done).toEqual(["hold 1a", "release 1a"]);
  });

  test("is done by another worker, and when the run is cancelled while the function waits", async () => {
    done = [];
    const trip = workflow("trip", { version: 1 }).run(async (ctx) => {
      const seat = await ctx.step("choose", () => "1a");
      ctx.onRollback(release, { seat }, at);
      await ctx.perform(hold, { seat }, at);
      await ctx.waitSignal("never");
    });
    const one = await each.kernel.worker({ serve: [trip] });
    const run = await each.kernel.start(trip, undefined, { runId: "c" });
    await expect.poll(async () => (await run.get()).why, { timeout: 30_000 }).toContain("never");
    await one.close();
    await run.cancel({ reason: "enough" });
    expect((await run.get()).why).toContain('rolls back what "main" did');
    await each.kernel.worker({ serve: [trip] });
    await expect(run.result({ timeout: "30s" })).rejects.toThrow(RunCancelled);
    expect(done).toEqual(["hold 1a", "release 1a"]);
  });
});

describe("a rollback that cannot be done waits for a person", () => {
  test("when the sink refuses it, after all others", async () => {
    done = [];
    const trip = workflow("trip", { version: 1 }).run(async (ctx) => {
      for (const seat of ["1a", "stuck"]) ctx.onRollback(release, { seat }, { ...at, key: seat });
      throw new Fatal("no hotel");
    });
    await each.kernel.worker({ serve: [trip] });
    const run = await each.kernel.start(trip, undefined, { runId: "r" });
    await expect
      .poll(async () => (await run.get()).why, { timeout: 30_000 })
      .toContain("the seat is sold");
    expect(done).toEqual(["release 1a"]);
    const known: string[] = [];
    for await (const review of each.kernel.reviews.list()) known.push(review.known);
    expect(known.join()).toContain('What task "main" did could not be rolled back');
  });

  test("when the code does not say any more what its operation is, and goes on with code that does", async () => {
    done = [];
    let saysSo = true;
    const trip = workflow("trip", { version: 1 }).run(async (ctx) => {
      if (saysSo) ctx.onRollback(release, { seat: "1a" }, at);
      saysSo = false;
      throw new Fatal("no hotel");
    });
    await each.kernel.worker({ serve: [trip] });
    const run = await each.kernel.start(trip, undefined, { runId: "u" });
    await expect
      .poll(async () => (await run.get()).why, { timeout: 30_000 })
      .toContain('rollback operation "release"');
    expect(done).toEqual([]);
    saysSo = true;
    for await (const review of each.kernel.reviews.list()) {
      await each.kernel.reviews.resolve(review, { choice: "retry", reason: "new code" });
    }
    await expect(run.result({ timeout: "30s" })).rejects.toThrow(RunFailed);
    expect(done).toEqual(["release 1a"]);
  });
});
