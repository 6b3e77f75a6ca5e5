import { type Client, connect, RunFailed, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClockedKernel } from "../field-reports/support/clocked-kernel.js";

const YEAR_MS = 365 * 86_400_000;

let kernel: ClockedKernel;
let client: Client;

beforeEach(async () => {
  kernel = await ClockedKernel.open();
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  await kernel.close();
  expect(kernel.faults).toEqual([]);
});

/** Waits until the task of a run is in this state. */
async function until(runId: string, status: string): Promise<void> {
  for (;;) {
    const { run } = await client.api.runs.getRun({ runId });
    if (run?.why.includes(status)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("ctx.sleep", () => {
  test("frees the slot, drops the handler without catch or finally, and goes on a year later", async () => {
    const seen: string[] = [];
    const patient = task("patient").run(async (ctx) => {
      seen.push(`begins, attempt ${ctx.attempt}`);
      const token = await ctx.step("token", () => {
        seen.push("step");
        return 7;
      });
      try {
        await ctx.sleep("until-ship", "365d");
        seen.push("slept");
      } catch (error) {
        seen.push(`caught ${error}`);
      } finally {
        seen.push("finally");
      }
      return token;
    });
    const worker = await client.worker({ serve: [patient], slots: 1 });
    const run = await client.start(patient, undefined, { runId: "r" });
    await until("r", 'for timer "until-ship"');
    expect(worker.running).toBe(0);
    await kernel.time.pass(YEAR_MS - 60_000);
    await until("r", 'for timer "until-ship"');
    await kernel.time.pass(60_100);
    expect(await run.result({ timeout: "10s" })).toBe(7);
    expect(seen).toEqual(["begins, attempt 1", "step", "begins, attempt 1", "slept", "finally"]);
  });

  test("survives the kernel, and fires what was due while it was down", async () => {
    const napping = task("napping").run(async (ctx) => {
      await ctx.sleep("one", "1h");
      await ctx.sleepUntil("two", new Date(kernel.time.wallMs() - 1));
      return "rested";
    });
    await client.worker({ serve: [napping] });
    const run = await client.start(napping, undefined, { runId: "r" });
    await until("r", 'for timer "one"');
    await kernel.kill();
    await kernel.time.pass(7_200_000);
    await kernel.start();
    await client.close({ drainMs: 0 });
    client = connect({ url: kernel.url, onConnection: () => undefined });
    await client.worker({ serve: [napping] });
    await kernel.time.pass(100);
    expect(await client.run("r").result({ timeout: "20s" })).toBe("rested");
    expect(run.runId).toBe("r");
  });
});

describe("waits at the same time", () => {
  test("refuse the same name twice, with both places", async () => {
    const twice = task("twice", { retry: { attempts: 1 } }).run(async (ctx) => {
      await Promise.all([ctx.sleep("same", "1h"), ctx.sleep("same", "2h")]);
    });
    await client.worker({ serve: [twice] });
    const run = await client.start(twice, undefined, { runId: "r" });
    const failed = await run.result({ timeout: "10s" }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailed);
    expect(String((failed as RunFailed).message)).toMatch(
      /"same" is used twice: first .*waits\.test\.ts/s,
    );
  });

  test("have the same winner however often the code runs again", async () => {
    const winners: string[] = [];
    const racing = task("racing").run(async (ctx) => {
      const late = ctx.sleep("late", "2m").then(() => "late");
      const early = ctx.sleep("early", "1m").then(() => "early");
      const first = await Promise.race([late, early]);
      winners.push(first);
      await late;
      await ctx.sleep("after", "1d");
      return first;
    });
    await client.worker({ serve: [racing] });
    const run = await client.start(racing, undefined, { runId: "r" });
    await until("r", 'for timer "late"');
    // Both are over before the code runs again: what was recorded first wins.
    await kernel.time.pass(180_000);
    await until("r", 'for timer "after"');
    await kernel.time.pass(86_400_000);
    expect(await run.result({ timeout: "10s" })).toBe("early");
    expect(winners).toEqual(["early", "early"]);
  });

  test("that lost a race hold up neither the return nor work of its own", async () => {
    const quick = task("quick").run(async (ctx) => {
      const first = await Promise.race([
        ctx.sleep("short", "1s").then(() => "short"),
        ctx.sleep("long", "30d").then(() => "long"),
      ]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return first;
    });
    await client.worker({ serve: [quick] });
    const run = await client.start(quick, undefined, { runId: "r" });
    await until("r", 'for timer "short"');
    await kernel.time.pass(1_100);
    expect(await run.result({ timeout: "10s" })).toBe("short");
  });
});
