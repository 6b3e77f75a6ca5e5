// Goal: what waits for a person can be seen, followed and decided from a program.
import { json, OperationAbandoned, operation, type ReviewChangeInfo, task } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";
import { firstReview } from "./support/first-review.js";

const each = eachEmbedded();

let calls = 0;

/** Its first call ends unknown, and nobody can ask it. */
const send = operation("mail.send", {
  payload: json<{ to: string }>(),
  result: json<{ sent: boolean }>(),
  callTimeout: "100ms",
  sink: { kind: "opaque", settle: "1ms" },
  call: () => {
    calls++;
    if (calls === 1) throw new Error("the connection broke");
    return { sent: true };
  },
});

const mail = task("mail").run(async (ctx) => {
  return await ctx.perform(send, { to: "ada" }, { target: "ada" }).catch((error: unknown) => {
    if (error instanceof OperationAbandoned) return `given up: ${error.message}`;
    throw error;
  });
});

/** A run whose mail nobody knows about. */
async function startInDoubt(runId = "r") {
  calls = 0;
  await each.kernel.worker({ serve: [mail] });
  const run = await each.kernel.start(mail, undefined, { runId });
  return { run, review: await firstReview(each.kernel, runId) };
}

/** Two attempts, then a person is asked. */
const flaky = task("flaky", {
  retry: { attempts: 2, initial: "1ms", onExhausted: "ask" },
}).run((ctx) => {
  if (ctx.attempt <= 2) throw new RangeError(`no, for the ${ctx.attempt}. time`);
  return "did it at last";
});

async function startFlaky(runId = "r") {
  await each.kernel.worker({ serve: [flaky] });
  const run = await each.kernel.start(flaky, undefined, { runId });
  return { run, review: await firstReview(each.kernel, runId) };
}

describe("the review of an effect", () => {
  test("says what is known, whom it concerns and what may be decided", async () => {
    const { review } = await startInDoubt();
    expect(review).toMatchObject({
      runId: "r",
      task: "main",
      subject: "operation",
      operationKey: "task/default/r/1/main/mail.send/1",
      known: expect.stringMatching(/\w/),
      choices: ["done", "retry", "not-done", "abandon", "fail"],
      resolution: undefined,
      failures: [],
      attempts: 0,
    });
    expect(Math.abs(Date.now() - review.openedAt.getTime())).toBeLessThan(60_000);
    expect(await each.kernel.reviews.get(review.reviewId)).toEqual(review);
  });

  test.each([
    ["done", { sent: false }, 1],
    ["retry", { sent: true }, 2],
    ["not-done", { sent: true }, 2],
    ["abandon", expect.stringMatching(/^given up: .*as found/), 1],
  ] as const)("goes on as the person says: %s", async (choice, output, callsInAll) => {
    const { run, review } = await startInDoubt();
    const reason = "as found";
    const { reviews } = each.kernel;
    const decision =
      choice === "done" ? { choice, result: { sent: false }, reason } : { choice, reason };
    expect(await reviews.resolve(review, decision)).toMatchObject({ existing: false });
    expect(await run.result({ timeout: "20s" })).toEqual(output);
    expect(calls).toBe(callsInAll);
    expect(await reviews.get(review.reviewId)).toMatchObject({
      choices: [],
      resolution: { choice, by: "local", reason },
    });
  });

  test("fails its task when the person says so", async () => {
    const { run, review } = await startInDoubt();
    await each.kernel.reviews.resolve(review, { choice: "fail", reason: "too late" });
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "PAWL_RUN_FAILED" });
    expect(calls).toBe(1);
  });
});

describe("the review of a task", () => {
  test("tells its attempts, and lets it try again with as many anew", async () => {
    const { run, review } = await startFlaky();
    expect(review).toMatchObject({
      subject: "task",
      task: "main",
      operationKey: "",
      choices: ["retry", "done", "skip", "fail"],
      attempts: 2,
      failures: [
        { attempt: 1, kind: "RangeError", message: "no, for the 1. time" },
        { attempt: 2, kind: "RangeError", message: "no, for the 2. time" },
      ],
    });
    await each.kernel.reviews.resolve(review, { choice: "retry", reason: "the disk was full" });
    expect(await run.result({ timeout: "20s" })).toBe("did it at last");
  });

  test.each([
    ["its output is given", { choice: "done", result: { by: "hand" } }, { by: "hand" }],
    ["it is left out", { choice: "skip" }, undefined],
  ] as const)("completes it when %s", async (_, what, output) => {
    const { run, review } = await startFlaky();
    await each.kernel.reviews.resolve(review, { ...what, reason: "done by hand" });
    expect(await run.result({ timeout: "20s" })).toEqual(output);
  });
});

describe("a resolution", () => {
  test("is the same when it comes again, and no other counts after it", async () => {
    const { review } = await startFlaky();
    const { reviews } = each.kernel;
    await reviews.resolve(review, { choice: "skip", reason: "not needed" });
    const again = await reviews.resolve(review, { choice: "skip", reason: "not needed" });
    expect(again.existing).toBe(true);
    await expect(
      reviews.resolve(review, { choice: "retry", reason: "or is it" }),
    ).rejects.toMatchObject({ name: "Conflict", code: "PAWL_FINGERPRINT_CONFLICT" });
  });

  test("is refused for a choice that is not offered, another version, and a review that there is not", async () => {
    const { review } = await startFlaky();
    const { reviews } = each.kernel;
    const reason = "so it is";
    await expect(reviews.resolve(review, { choice: "abandon", reason })).rejects.toMatchObject({
      code: "PAWL_ILLEGAL_TRANSITION",
    });
    const changed = { ...review, version: review.version + 1 };
    await expect(reviews.resolve(changed, { choice: "skip", reason })).rejects.toMatchObject({
      code: "PAWL_STALE_VERSION",
    });
    await expect(reviews.get("999-0")).rejects.toMatchObject({
      name: "NotFound",
      code: "PAWL_REVIEW_NOT_FOUND",
    });
  });

  test("without what it needs is refused before it is sent", async () => {
    const shown = { reviewId: "1-0", version: 1 };
    const { reviews } = each.kernel;
    await expect(
      reviews.resolve(shown, { choice: "done", result: undefined, reason: "done" }),
    ).rejects.toThrow(/Expected a result with choice "done"/);
    const unknown: string = "perhaps";
    await expect(
      Reflect.apply(reviews.resolve, reviews, [shown, { choice: unknown, reason: "?" }]),
    ).rejects.toThrow(
      /one of accept, done, retry, not-done, abandon, skip, fail, but it is "perhaps"/,
    );
  });
});

describe("a list", () => {
  test("has what is open, and of one run also what was resolved", async () => {
    const { run, review } = await startFlaky("first");
    const { reviews } = each.kernel;
    const second = await each.kernel.start(flaky, undefined, { runId: "second" });
    await firstReview(each.kernel, "second");
    await reviews.resolve(review, { choice: "skip", reason: "not needed" });
    await run.result({ timeout: "20s" });
    const runs = async (options?: Parameters<typeof reviews.list>[0]) => {
      const found: string[] = [];
      for await (const { runId, resolution } of reviews.list(options)) {
        found.push(`${runId} ${resolution?.choice ?? "open"}`);
      }
      return found;
    };
    expect(await runs()).toEqual(["second open"]);
    expect(await runs({ runId: "first" })).toEqual([]);
    expect(await runs({ runId: "first", includeResolved: true })).toEqual(["first skip"]);
    await second.terminate();
  });
});

describe("a watch", () => {
  test("tells what is open, then what happens, and goes on from a position", async () => {
    const { run, review } = await startFlaky("first");
    const { reviews } = each.kernel;
    const told: ReviewChangeInfo[] = [];
    let position: string | undefined;
    for await (const change of reviews.watch({ current: true })) {
      told.push(change);
      if (told.length === 1) {
        await reviews.resolve(review, { choice: "skip", reason: "not needed" });
      }
      position = change.position;
      if (change.resolution !== undefined && position !== undefined) break;
    }
    await run.result({ timeout: "20s" });
    expect(told).toMatchObject([
      { runId: "first", task: "main", subject: "task", resolution: undefined },
      { runId: "first", resolution: { choice: "skip", by: "local", reason: "not needed" } },
    ]);
    expect(told[0]).toMatchObject({ known: review.known, at: review.openedAt });
    await each.kernel.start(flaky, undefined, { runId: "second" });
    for await (const change of reviews.watch({ after: position ?? "" })) {
      expect(change).toMatchObject({ runId: "second", resolution: undefined });
      break;
    }
  });

  test("ends with its signal", async () => {
    const stop = new AbortController();
    const watching = (async () => {
      for await (const _ of each.kernel.reviews.watch({ signal: stop.signal, current: true })) {
        stop.abort(new Error("enough"));
      }
    })();
    const ended = expect(watching).rejects.toThrow("enough");
    await startFlaky();
    await ended;
  });

  test("does not begin both now and after a position", async () => {
    const watch = each.kernel.reviews.watch({ after: "AAAA", current: true });
    await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "PAWL_DEFINITION_INVALID",
    });
  });
});
