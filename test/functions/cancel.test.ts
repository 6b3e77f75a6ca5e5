import { Cancelled, json, RunCancelled, task, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();

const CANCELLED = 10; // TaskStatus of proto/pawl/v1/run.proto

const never = task("never", { input: json<number>() }).run(async (ctx) => {
  await ctx.waitSignal("never");
  return 1;
});

describe("a run that is cancelled", () => {
  test("while its function waits ends, with nothing left open", async () => {
    const waiting = workflow("waiting", { version: 1 }).run(async (ctx) => {
      const first = await ctx.race("first", {
        signal: ctx.waitSignal("go"),
        time: ctx.sleep("time", "1h"),
        answer: ctx.ask("answer", { question: "?" }),
        call: ctx.call(never, 1),
      });
      return first.winner;
    });
    await each.kernel.worker({ serve: [waiting, never] });
    const run = await each.kernel.start(waiting, undefined, { runId: "w" });
    await expect.poll(async () => (await run.get()).why).toContain('"go"');
    await run.cancel({ reason: "not needed" });
    await expect(run.result({ timeout: "2m" })).rejects.toThrow(RunCancelled);
    expect((await run.task("never")).status).toBe(CANCELLED);
    for await (const input of each.kernel.inputs.list({ runId: "w" })) {
      throw new Error(`left over: ${input.inputId}`);
    }
  });

  test("while a step runs is told through ctx.signal, and what it returns all the same does not complete the run", async () => {
    let began: () => void = () => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const reasons: unknown[] = [];
    const stubborn = workflow("stubborn", { version: 1 }).run(async (ctx) => {
      await ctx.step("slow", async ({ signal }) => {
        began();
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve, { once: true });
        });
        reasons.push(signal.reason);
        return "though it was cancelled";
      });
      return "done";
    });
    await each.kernel.worker({ serve: [stubborn] });
    const run = await each.kernel.start(stubborn, undefined, { runId: "s" });
    await hasBegun;
    await run.cancel();
    await expect(run.result({ timeout: "2m" })).rejects.toThrow(RunCancelled);
    expect(reasons).toEqual([expect.any(Cancelled)]);
  });

  test("in the middle of a map and of a race throws there: nothing is taken for the outcome of an item, and no winner is recorded", async () => {
    const seen: string[] = [];
    const note = (error: unknown): void => {
      seen.push(error instanceof Cancelled ? "cancelled" : "another");
      throw error;
    };
    const mapping = workflow("mapping", { version: 1 }).run(async (ctx) => {
      const busy = ctx.step("busy", async ({ signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve, { once: true });
        });
        return null;
      });
      const join = { atLeast: 1 };
      const map = ctx.map("map", [1, 2], { key: String, join }, (n) => ctx.call(never, n));
      const race = ctx.race("race", { call: ctx.call(never, 3), time: ctx.sleep("time", "1h") });
      await Promise.allSettled([map.catch(note), race.catch(note)]);
      await busy;
      return "done";
    });
    await each.kernel.worker({ serve: [mapping, never] });
    const run = await each.kernel.start(mapping, undefined, { runId: "m" });
    await expect
      .poll(async () => (await run.task("map/2/never").catch(() => null))?.name)
      .toBe("map/2/never");
    await run.cancel();
    await expect(run.result({ timeout: "2m" })).rejects.toThrow(RunCancelled);
    expect(seen).toEqual(["cancelled", "cancelled"]);
    const steps: string[] = [];
    for await (const { step } of run.watch()) if (step !== "") steps.push(step);
    expect(steps).not.toContain("$race/race");
    for (const name of ["never", "map/1/never", "map/2/never"]) {
      expect((await run.task(name)).status).toBe(CANCELLED);
    }
  });
});
