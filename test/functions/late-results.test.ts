import { type Duration, json, type Operation, operation, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { beforeEach, expect, test } from "vitest";

/** Answers to the calls of the sink, each when the test says so. */
let answers: ((value: string) => void)[] = [];
/** What the code was given, in order. */
let given: string[] = [];
/** The attempts in which the code began. */
let attempts: number[] = [];

beforeEach(() => {
  answers = [];
  given = [];
  attempts = [];
});

const parts = {
  payload: json<number>(),
  result: json<string>(),
  call: () => new Promise<string>((answer) => void answers.push(answer)),
};
const lookedUp = operation("looked-up", {
  ...{ ...parts, sink: { kind: "reconcilable", settle: "10m" }, callTimeout: "1s" },
  lookup: () => "unknown" as const,
});
const repeated = operation("repeated", {
  ...{ ...parts, sink: { kind: "idempotent", keyWindow: "1d" }, callTimeout: "30s" },
});

const opaque = operation("opaque", { ...parts, callTimeout: "1s" });

/** Performs it beside a nap. */
function performing(slow: Operation<number, string>, nap: Duration) {
  return workflow("late", { version: 1 }).run(async (ctx) => {
    attempts.push(ctx.attempt);
    const performed = ctx.perform(slow, 1, { target: "t" }).then((value) => given.push(value));
    await ctx.sleep("nap", nap);
    given.push("slept");
    await performed;
    return given.join();
  });
}

test("a late result of the only call is given as soon as it comes, and nothing else waits for it", async () => {
  const served = performing(lookedUp, "5s");
  await using env = await openTestEnvironment();
  await env.worker({ serve: [served] });
  await env.kernel.start(served, undefined, { runId: "r" });
  await env.advance("3s");
  answers[0]?.("late");
  await env.advance("1s");
  expect(given).toEqual(["late"]);
  await env.advance("5s");
  expect(given).toEqual(["late", "slept"]);
});

test("a late result of a call after which another one was made is passed over, and the code goes on", async () => {
  const served = performing(repeated, "45s");
  await using env = await openTestEnvironment();
  await env.worker({ serve: [served] });
  const run = await env.kernel.start(served, undefined, { runId: "r" });
  while (answers.length < 2) await env.advance("1s");
  answers[0]?.("first");
  await env.advance("20s");
  expect(given).toEqual(["slept"]);
  answers[1]?.("second");
  expect(await run.result()).toBe("slept,second");
  expect(attempts).toEqual([1]);
});

test("a late result of a call about which a person is asked answers the question", async () => {
  const served = performing(opaque, "1h");
  await using env = await openTestEnvironment();
  await env.worker({ serve: [served] });
  await env.kernel.start(served, undefined, { runId: "r" });
  await env.advance("2m");
  const reviews: string[] = [];
  for await (const review of env.kernel.reviews.list()) reviews.push(review.operationKey);
  expect(reviews).toHaveLength(1);
  answers[0]?.("late");
  await env.advance("1s");
  expect(given).toEqual(["late"]);
  await env.advance("1h");
  expect(given).toEqual(["late", "slept"]);
});
