import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { type ReviewChange, ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { OnExisting, RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { claim, json } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";

const { method: reviews } = ReviewService;

const server = eachTestServer();

/** A run whose one attempt fails, and about which a person is asked. */
async function askAbout(
  runId: string,
  again: { onExisting?: OnExisting; requestId?: string } = {},
) {
  const { grpc } = server;
  const retry = { attemptsMax: 1, onExhausted: OnExhausted.ASK };
  const plan = { tasks: [{ name: "only", kind: `kind-${runId}`, retry }], output: "only" };
  await grpc.unary(RunService.method.startRuns, {
    runs: [{ runId, workflow: "w", plan, ...again }],
  });
  const { leaseVersion, task: name } = await claim(grpc, `kind-${runId}`);
  const failure = { kind: "Boom", message: "it broke", retryable: true };
  await grpc.unary(WorkerService.method.reportOutputs, {
    reports: [{ runId, task: name, leaseVersion, outcome: { case: "failure", value: failure } }],
  });
}

async function decide(runId: string, choice: ReviewChoice): Promise<void> {
  const { reviews: open } = await server.grpc.unary(reviews.listReviews, { runId });
  await server.grpc.unary(reviews.resolveReview, {
    reviewId: open[0]?.reviewId ?? "",
    expectedVersion: 1,
    choice,
    reason: "I looked",
    ...(choice === ReviewChoice.DONE ? { result: json("by hand") } : {}),
  });
}

function brief({ runId, subject, task, resolution, reason, resolvedBy }: ReviewChange) {
  return { runId, subject, task, resolution, reason, resolvedBy };
}

const opened = (runId: string) => ({
  ...{ runId, subject: ReviewSubject.TASK, task: "only" },
  ...{ resolution: ReviewChoice.UNSPECIFIED, reason: "", resolvedBy: "" },
});
const resolved = (runId: string, resolution: ReviewChoice) => ({
  ...opened(runId),
  ...{ resolution, reason: "I looked", resolvedBy: "local" },
});

test.each(["grpc", "json"] as const)(
  "reviews are watched over %s from now on, and on from a position, without gap or repeat",
  async (protocol) => {
    await askAbout("before");
    const seen: ReturnType<typeof brief>[] = [];
    let position: Uint8Array = new Uint8Array(0);
    for await (const message of server[protocol].stream(reviews.watchReviews, {})) {
      const isFirst = position.length === 0;
      position = message.position;
      seen.push(...message.changes.map(brief));
      if (isFirst) {
        // Only now: what came before is found by listing.
        await askAbout("after");
      } else {
        break;
      }
    }
    expect(seen).toEqual([opened("after")]);
    // The stream is cut here, and this comes meanwhile.
    await decide("before", ReviewChoice.DONE);
    await decide("after", ReviewChoice.SKIP);
    for await (const message of server[protocol].stream(reviews.watchReviews, { position })) {
      seen.push(...message.changes.map(brief));
      if (seen.length === 3) break;
    }
    expect(seen).toEqual([
      opened("after"),
      resolved("before", ReviewChoice.DONE),
      resolved("after", ReviewChoice.SKIP),
    ]);
    const { result } = await server[protocol].unary(RunService.method.getResult, {
      runId: "before",
    });
    expect(Buffer.from(result?.output?.body.value as Uint8Array).toString()).toBe('"by hand"');
  },
);

test("a resolved review is still read by its id", async () => {
  await askAbout("r");
  const [open] = (await server.grpc.unary(reviews.listReviews, {})).reviews;
  const reviewId = open?.reviewId ?? "";
  await decide("r", ReviewChoice.FAIL);
  const { review } = await server.json.unary(reviews.getReview, { reviewId });
  expect(review).toMatchObject({
    reviewId,
    task: "only",
    resolution: ReviewChoice.FAIL,
    reason: "I looked",
    choices: [],
    attempts: 1,
    failures: [{ attempt: 1, kind: "Boom", message: "it broke" }],
  });
});

test("the id of a review of an earlier incarnation reads none of the next one's", async () => {
  await askAbout("r");
  const first = (await server.grpc.unary(reviews.listReviews, {})).reviews[0]?.reviewId ?? "";
  await decide("r", ReviewChoice.FAIL);
  await askAbout("r", { onExisting: OnExisting.RESTART_FAILED, requestId: "again" });
  const second = (await server.grpc.unary(reviews.listReviews, {})).reviews[0]?.reviewId ?? "";
  expect(second).toBe(`${first}-2`);
  const { review } = await server.grpc.unary(reviews.getReview, { reviewId: second });
  expect(review).toMatchObject({ reviewId: second, version: 1 });
  const refusal = await server.grpc
    .unary(reviews.getReview, { reviewId: first })
    .catch(codeAndReason);
  expect(refusal).toBe("NOT_FOUND PAWL_REVIEW_NOT_FOUND");
});
