import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { DefinitionInvalid, later, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";

const each = eachEmbedded();

test("a handler that says later gives its task back, uses no attempt, and is heard with its reason", async () => {
  let calls = 0;
  const closed = task("closed", { retry: { attempts: 1 } }).run(async (ctx) => {
    const price = await ctx.step("price", () => ++calls);
    if (ctx.leaseVersion < 3)
      throw later(calls === 1 && ctx.leaseVersion === 1 ? "1s" : "1ms", "the bank is closed");
    return { price, attempt: ctx.attempt };
  });
  await each.kernel.worker({ serve: [closed] });
  const run = await each.kernel.start(closed, undefined, { runId: "r" });
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
