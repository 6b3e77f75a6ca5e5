import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { DefinitionInvalid, type EmbeddedKernel, later, openKernel, task } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";

let dir: string;
let kernel: EmbeddedKernel;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-sdk-"));
  kernel = await openKernel({ dir });
});

afterEach(async () => {
  await kernel.close({ drainMs: 500 });
  await rm(dir, { recursive: true, force: true });
});

test("a handler that says later gives its task back, uses no attempt, and is heard with its reason", async () => {
  let calls = 0;
  const closed = task("closed", { retry: { attempts: 1 } }).run(async (ctx) => {
    const price = await ctx.step("price", () => ++calls);
    if (ctx.leaseVersion < 3)
      throw later(calls === 1 && ctx.leaseVersion === 1 ? "1s" : "1ms", "the bank is closed");
    return { price, attempt: ctx.attempt };
  });
  await kernel.worker({ serve: [closed] });
  const run = await kernel.start(closed, undefined, { runId: "r" });
  await expect.poll(async () => (await run.task("main")).status).toBe(TaskStatus.BACKOFF);
  expect((await run.get()).why).toMatch(
    /^Task "main" waits \d+ m?s for attempt 1 of 1: its worker gave it back \("the bank is closed"\)\.$/,
  );
  expect(await run.result({ timeout: "20s" })).toEqual({ price: 1, attempt: 1 });
  const ends: string[] = [];
  for await (const { type, attempt, detail } of run.watch()) {
    if (type === "LeaseEnded") ends.push(`${attempt} ${detail}`);
  }
  expect(ends).toEqual([
    '1 The lease ended (returned: "the bank is closed"); the task is BACKOFF.',
    '1 The lease ended (returned: "the bank is closed"); the task is BACKOFF.',
  ]);
});

test("a task cannot be put off for ever", () => {
  expect(() => later("31d")).toThrow(DefinitionInvalid);
});
