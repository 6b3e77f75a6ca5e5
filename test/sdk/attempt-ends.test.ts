// Goal: an attempt that must stop learns why, and nothing it does afterwards counts.
import {
  AttemptEnded,
  AwaitingReview,
  Cancelled,
  json,
  LeaseLost,
  operation,
  type Run,
  RunCancelled,
  RunTerminated,
  type TaskContext,
  TimedOut,
  task,
} from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";
import { firstReview } from "./support/first-review.js";
import { gate } from "./support/worker-bench.js";

const each = eachEmbedded();

/** Resolves with the reason when the attempt should stop. */
function stopped(ctx: TaskContext): Promise<unknown> {
  return new Promise((resolve) => {
    ctx.signal.addEventListener("abort", () => resolve(ctx.signal.reason));
  });
}

/** Until something that the attempt recorded is there: a cancellation then finds it at work. */
async function isAtWork(run: Run): Promise<void> {
  for await (const { step } of run.watch()) if (step === "begin") return;
}

test("a cancelled attempt is told the reason and its grace, and may clean up with its context", async () => {
  const seen = gate<unknown>();
  const tidy = task("tidy", { cancelGrace: "20s" }).run(async (ctx) => {
    await ctx.step("begin", () => 1);
    const reason = await stopped(ctx);
    await ctx.step("clean-up", () => "swept");
    seen.open(reason);
    throw reason;
  });
  await each.kernel.worker({ serve: [tidy] });
  const run = await each.kernel.start(tidy, undefined, { runId: "r" });
  await isAtWork(run);
  await run.cancel({ reason: "the customer left" });
  const reason = await seen.promise;
  expect(reason).toBeInstanceOf(Cancelled);
  expect(reason).toMatchObject({
    code: "PAWL_CANCELLED",
    message: "The run was asked to stop: the customer left",
    retryable: false,
    graceMs: 20_000,
  });
  const ended = await run.result({ timeout: "20s" }).catch((error: unknown) => error);
  expect(ended).toBeInstanceOf(RunCancelled);
  expect(ended).toMatchObject({ runId: "r", message: expect.stringContaining("customer left") });
  const steps: string[] = [];
  for await (const event of run.watch()) if (event.type === "StepRecorded") steps.push(event.step);
  expect(steps).toEqual(["begin", "clean-up"]);
});

test("an attempt whose run is terminated has lost its lease, and its context throws so", async () => {
  const seen = gate<{ readonly reason: unknown; readonly thrown: unknown }>();
  const cut = task("cut").run(async (ctx) => {
    await ctx.step("begin", () => 1);
    const reason = await stopped(ctx);
    const thrown = await ctx.step("too late", () => 2).catch((error: unknown) => error);
    seen.open({ reason, thrown });
  });
  await each.kernel.worker({ serve: [cut] });
  const run = await each.kernel.start(cut, undefined, { runId: "r" });
  await isAtWork(run);
  await run.terminate({ reason: "it was a test" });
  const { reason, thrown } = await seen.promise;
  expect(reason).toBeInstanceOf(LeaseLost);
  expect(reason).toMatchObject({ code: "PAWL_LEASE_LOST", lostBy: "terminated" });
  expect(thrown).toBe(reason);
  const ended = await run.result({ timeout: "20s" }).catch((error: unknown) => error);
  expect(ended).toBeInstanceOf(RunTerminated);
  expect(ended).toMatchObject({ message: expect.stringContaining("it was a test") });
});

test("an attempt whose own time is over is told so, and the next one begins", async () => {
  const seen: unknown[] = [];
  const slow = task("slow", {
    retry: { attempts: 20, initial: "1ms" },
    timeouts: { startToClose: "300ms" },
  }).run(async (ctx) => {
    // Not by the number of the attempt: on a busy machine the time of one may be over before its code begins.
    if (seen.length === 1) return "in time";
    const reason = await stopped(ctx);
    seen.push(reason);
    throw reason;
  });
  await each.kernel.worker({ serve: [slow] });
  const run = await each.kernel.start(slow, undefined, { runId: "r" });
  expect(await run.result({ timeout: "20s" })).toBe("in time");
  expect(seen).toEqual([expect.any(TimedOut)]);
  expect(seen).toMatchObject([{ code: "PAWL_ATTEMPT_TIMED_OUT" }]);
});

test("an attempt that comes to an effect which a person must decide names the review", async () => {
  const seen = gate<unknown>();
  const send = operation("send", {
    payload: json<null>(),
    result: json<null>(),
    callTimeout: "100ms",
    sink: { kind: "opaque", settle: "1ms" },
    call: () => {
      throw new Error("the line broke");
    },
  });
  const mail = task("mail").run(async (ctx) => {
    try {
      return await ctx.perform(send, null, { target: "ada" });
    } catch (error) {
      seen.open(error);
      throw error;
    }
  });
  await each.kernel.worker({ serve: [mail] });
  await each.kernel.start(mail, undefined, { runId: "r" });
  const { reviewId, operationKey } = await firstReview(each.kernel, "r");
  const reason = await seen.promise;
  expect(reason).toBeInstanceOf(AwaitingReview);
  expect(reason).toBeInstanceOf(AttemptEnded);
  expect(reason).toMatchObject({ code: "PAWL_NEEDS_REVIEW", reviewId, operationKey });
});

test("a handler that goes on although its attempt is over is named, and its slot goes to another", async () => {
  const done = gate();
  const stuck = gate<{ readonly task: string; readonly runId: string }>();
  const deaf = task("deaf").run(async (ctx) => {
    await ctx.step("begin", () => 1);
    await done.promise;
  });
  const next = task("next").run(() => "served");
  await each.kernel.worker({ serve: [deaf, next], slots: 1, onStuck: stuck.open });
  const run = await each.kernel.start(deaf, undefined, { runId: "deaf" });
  await isAtWork(run);
  await run.terminate();
  const other = await each.kernel.start(next, undefined, { runId: "next" });
  expect(await stuck.promise).toEqual({ task: "main", runId: "deaf" });
  expect(await other.result({ timeout: "20s" })).toBe("served");
  done.open();
});

test("a context is of no use once its handler has returned", async () => {
  let kept: TaskContext | undefined;
  const leaky = task("leaky").run((ctx) => {
    kept = ctx;
  });
  await each.kernel.worker({ serve: [leaky] });
  const run = await each.kernel.start(leaky, undefined, { runId: "r" });
  await run.result({ timeout: "20s" });
  await expect(kept?.step("late", () => 1)).rejects.toMatchObject({
    code: "PAWL_CONTEXT_CLOSED",
    retryable: false,
  });
});
