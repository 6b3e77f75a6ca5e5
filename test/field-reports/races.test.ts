import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "../rpc/support/each-test-server.js";
import type { World } from "../rpc/support/error-case.js";
import { claim, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { buildWorld } from "../rpc/support/world.js";
import { claimNow, eventsOf, report, startTask } from "./support/leases.js";

const { method: run } = RunService;
const { method: reviews } = ReviewService;

const server = eachTestServer();

describe("two that act on the same version at once", () => {
  test("decide a review once: the other is told that it was decided otherwise", async () => {
    const { reviewId }: World = await buildWorld(server.grpc);
    const decide = (choice: ReviewChoice) =>
      server.grpc
        .unary(reviews.resolveReview, { reviewId, expectedVersion: 1, choice, reason: "mine" })
        .then(() => "taken", codeAndReason);
    const answers = await Promise.all([
      decide(ReviewChoice.ABANDON),
      decide(ReviewChoice.RETRY),
      decide(ReviewChoice.FAIL),
    ]);
    expect(answers.filter((answer) => answer === "taken")).toHaveLength(1);
    expect(answers.filter((answer) => answer !== "taken")).toEqual([
      "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
      "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    ]);
  });

  test("cancel a run that has moved on since they looked: both are told the version it has", async () => {
    const { grpc } = server;
    await startTask(grpc, "r");
    const { run: seen } = await grpc.unary(run.getRun, { runId: "r" });
    const expectedVersion = seen?.version ?? 0;
    const offer = await claim(grpc, "kind-r");
    await report(grpc, offer, { output: 1 });
    const late = grpc.unary(run.cancelRun, { runId: "r", expectedVersion });
    expect(await late.catch(codeAndReason)).toMatch(
      /^FAILED_PRECONDITION PAWL_(RUN_OVER|STALE_VERSION)$/,
    );
    expect(await eventsOf(grpc, "r")).not.toContain("RunCancelRequested");
  });
});

describe("many that want the same tasks at once", () => {
  test("get each task once, under one lease", async () => {
    const { grpc } = server;
    const runs = Array.from({ length: 20 }, (_, index) => oneTask(`r${index}`, "kind-all"));
    await grpc.unary(run.startRuns, { runs });
    const claims = await Promise.all(Array.from({ length: 60 }, () => claimNow(grpc, "all")));
    const offers = claims.filter((offer) => offer !== undefined);
    expect(new Set(offers.map(({ runId }) => runId)).size).toBe(offers.length);
    expect(offers).toHaveLength(20);
    expect(offers.map(({ leaseVersion }) => leaseVersion)).toEqual(offers.map(() => 1));
    // Two that say to have done the same task: what the second says is compared, never applied.
    const [first] = offers;
    if (first === undefined) throw new Error("nothing was claimed");
    const answers = await Promise.all([
      report(grpc, first, { output: "one" }),
      report(grpc, first, { output: "two" }),
    ]);
    expect(answers.sort()).toEqual(["PAWL_FINGERPRINT_CONFLICT", "accepted"]);
    expect(leaseRef(first).leaseVersion).toBe(1);
  });
});
