import { json, RunCancelled, task, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { gathering, waitsFor } from "./support/gathering.js";

const each = eachEmbedded();

const double = task("double", { input: json<number>() }).run((_ctx, n) => n * 2);

describe("a function that waits in memory", () => {
  test("goes on where it stands, under the next lease: nothing of it runs again", async () => {
    const { gather, seen } = gathering(3);
    await each.kernel.worker({ serve: [gather] });
    const run = await each.kernel.start(gather, undefined, { runId: "g" });
    for (const [index, value] of [7, 8, 9].entries()) {
      await waitsFor(run, `s${index}`);
      await run.signal(`s${index}`, value);
    }
    expect(await run.result({ timeout: "2m" })).toEqual([0, 7, 10, 8, 20, 9]);
    expect(seen).toEqual({ tops: 1, finals: 1, leases: [2, 3, 4] });
  });

  test("goes on after calls, sleeps and steps as one that is read again from its records does", async () => {
    const outcomes: unknown[] = [];
    const tops: number[] = [];
    for (const [index, warmBytesMax] of [67_108_864, 0].entries()) {
      let begun = 0;
      const mixed = workflow("mixed", { version: 1 }).run(async (ctx) => {
        begun++;
        const doubled = await ctx.call(double, 4);
        await ctx.sleep("rest", "60ms");
        const both = await ctx.all([
          ctx.call(double, doubled, { key: "2" }),
          ctx.sleep("b", "50ms"),
        ]);
        const won = await ctx.race("first", {
          nap: ctx.sleep("c", "40ms"),
          never: ctx.sleep("d", "1h"),
        });
        return [doubled, both[0], won.winner];
      });
      const worker = await each.kernel.worker({ serve: [mixed, double], warmBytesMax });
      const run = await each.kernel.start(mixed, undefined, { runId: `m${index}` });
      outcomes.push(await run.result({ timeout: "2m" }));
      tops.push(begun);
      await worker.close();
    }
    expect(outcomes).toEqual([
      [8, 16, "nap"],
      [8, 16, "nap"],
    ]);
    expect(tops[0]).toBe(1);
    expect(tops[1]).toBeGreaterThan(1);
  });

  test("hears through its signal that its run was asked to stop, also a signal it took before it waited", async () => {
    let reason: unknown;
    let isBusy = false;
    const long = workflow("long", { version: 1 }).run(async (ctx) => {
      const { signal } = ctx;
      await ctx.waitSignal("go");
      await ctx.step("work", async () => {
        isBusy = true;
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        reason = signal.reason;
        return 1;
      });
    });
    await each.kernel.worker({ serve: [long] });
    const run = await each.kernel.start(long, undefined, { runId: "l" });
    await waitsFor(run, "go");
    await run.signal("go");
    await expect.poll(() => isBusy).toBe(true);
    await run.cancel();
    await expect(run.result({ timeout: "2m" })).rejects.toBeInstanceOf(RunCancelled);
    expect(reason).toMatchObject({ name: "Cancelled" });
  });
});

describe("what happens to a function while it waits in memory", () => {
  test("is forgotten when its run is cancelled: no catch and no finally runs", async () => {
    const { gather, seen } = gathering(1);
    await each.kernel.worker({ serve: [gather] });
    const run = await each.kernel.start(gather, undefined, { runId: "c" });
    await waitsFor(run, "s0");
    await run.cancel();
    await expect(run.result({ timeout: "2m" })).rejects.toBeInstanceOf(RunCancelled);
    expect(seen).toMatchObject({ tops: 1, finals: 0 });
    const again = await each.kernel.start(gather, undefined, { runId: "d" });
    await waitsFor(again, "s0");
    await again.signal("s0", 1);
    expect(await again.result({ timeout: "2m" })).toEqual([0, 1]);
  });

  test("loses nothing that is recorded while it is being given back", async () => {
    const { gather, seen } = gathering(40);
    await each.kernel.worker({ serve: [gather] });
    const run = await each.kernel.start(gather, undefined, { runId: "q" });
    await waitsFor(run, "s0");
    // Each comes as soon as the one before is acknowledged: while the code runs, waits, or is between both.
    for (let index = 0; index < 40; index++) await run.signal(`s${index}`, index);
    const expected = Array.from({ length: 40 }, (_, index) => [index * 10, index]).flat();
    expect(await run.result({ timeout: "60s" })).toEqual(expected);
    expect(seen).toMatchObject({ tops: 1, finals: 1 });
  });

  test("that did something of its own meanwhile is read again from its records", async () => {
    let tops = 0;
    const stray = workflow("stray", { version: 1 }).run(async (ctx) => {
      const isFirst = ++tops === 1;
      if (isFirst) setTimeout(() => void ctx.step("stray", () => 1), 20);
      const { status } = await ctx.waitSignal("go");
      return [status, await ctx.step("stray", () => 2)];
    });
    await each.kernel.worker({ serve: [stray] });
    const run = await each.kernel.start(stray, undefined, { runId: "s" });
    await waitsFor(run, "go");
    await new Promise((resolve) => setTimeout(resolve, 60));
    await run.signal("go");
    expect(await run.result({ timeout: "2m" })).toEqual(["received", 2]);
    expect(tops).toBe(2);
  });
});

describe("a function that waits and is in memory no more", () => {
  test("for want of room runs again from its records, with the same outcome", async () => {
    const { gather, seen } = gathering(2);
    // Room for two.
    await each.kernel.worker({ serve: [gather], warmBytesMax: 20_000 });
    const runs = await Promise.all(
      [0, 1, 2, 3].map((n) => each.kernel.start(gather, undefined, { runId: `e${n}` })),
    );
    for (const run of runs) await waitsFor(run, "s0");
    for (const run of runs) await run.signal("s0", 5);
    for (const run of runs) await waitsFor(run, "s1");
    for (const run of runs) await run.signal("s1", 6);
    for (const run of runs) expect(await run.result({ timeout: "2m" })).toEqual([0, 5, 10, 6]);
    // Those that were dropped began anew; none of them came to a `finally` before its end.
    expect(seen.tops).toBeGreaterThan(4);
    expect(seen.finals).toBe(4);
  });

  test("since its worker is gone goes on at another one", async () => {
    const first = gathering(2);
    const second = gathering(2);
    const one = await each.kernel.worker({ serve: [first.gather] });
    const run = await each.kernel.start(first.gather, undefined, { runId: "w" });
    await waitsFor(run, "s0");
    await run.signal("s0", 5);
    await waitsFor(run, "s1");
    await one.close();
    await each.kernel.worker({ serve: [second.gather] });
    await run.signal("s1", 6);
    expect(await run.result({ timeout: "2m" })).toEqual([0, 5, 10, 6]);
    expect(first.seen).toMatchObject({ tops: 1, finals: 0 });
    expect(second.seen).toMatchObject({ tops: 1, finals: 1 });
  });

  test("since all of them were told to keep nothing begins anew at each wake-up", async () => {
    const { gather, seen } = gathering(2);
    await each.kernel.worker({ serve: [gather], warmBytesMax: 0 });
    const run = await each.kernel.start(gather, undefined, { runId: "z" });
    await waitsFor(run, "s0");
    await run.signal("s0", 5);
    await waitsFor(run, "s1");
    await run.signal("s1", 6);
    expect(await run.result({ timeout: "2m" })).toEqual([0, 5, 10, 6]);
    expect(seen).toMatchObject({ tops: 3, finals: 1 });
  });
});

test("a worker that is busy is not waited for: whoever is free takes the function cold, at once", async () => {
  const warm = gathering(1);
  const free = gathering(1);
  const held = { isHeld: false, end: (): void => undefined };
  const hold = task("hold").run(async () => {
    held.isHeld = true;
    await new Promise<void>((resolve) => {
      held.end = resolve;
    });
    return 0;
  });
  await each.kernel.worker({ serve: [warm.gather, hold], slots: 1 });
  const run = await each.kernel.start(warm.gather, undefined, { runId: "b" });
  await waitsFor(run, "s0");
  const holding = await each.kernel.start(hold, undefined, { runId: "h" });
  await expect.poll(() => held.isHeld).toBe(true);
  await each.kernel.worker({ serve: [free.gather] });
  await run.signal("s0", 5);
  expect(await run.result({ timeout: "2m" })).toEqual([0, 5]);
  expect(warm.seen).toMatchObject({ tops: 1, finals: 0 });
  expect(free.seen).toMatchObject({ tops: 1, finals: 1 });
  held.end();
  await holding.result({ timeout: "2m" });
});
