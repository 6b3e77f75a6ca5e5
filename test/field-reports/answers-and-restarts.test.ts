import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, leaseRef, operation } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { claimAndHold, claimNow, eventsOf, report, startTask } from "./support/leases.js";

const { method: run } = RunService;
const { method: ops } = OperationService;
const { method: reviews } = ReviewService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

async function restart(): Promise<void> {
  await clocked.kill();
  await clocked.start();
}

const wire = operation("wire", SinkKind.OPAQUE, { callTimeoutMs: 10 });

/** A run whose only task waits for a person: nobody knows whether its effect happened. */
async function openReview(): Promise<{ reviewId: string; key: string }> {
  await startTask(clocked.grpc, "r");
  const holder = leaseRef(await claimAndHold(clocked.grpc, "r"));
  const intend = (intentId: string) =>
    clocked.grpc.unary(ops.intendOperation, { holder, intentId, operation: wire });
  const key = (await intend("i1")).answer?.answer.value?.key ?? "";
  await clocked.grpc.unary(ops.observeOperation, {
    ...{ holder, key, intentId: "i1" },
    observation: { outcome: { case: "unknown", value: { kind: "Timeout" } } },
  });
  await clocked.time.pass(50, 10);
  const { answer } = (await intend("i2")).answer ?? {};
  if (answer?.case !== "review") throw new Error(`no review: ${answer?.case}`);
  return { reviewId: answer.value.reviewId, key };
}

test("a decision that comes twice, differently, too late or after the end changes nothing, and every restart loads", async () => {
  const { reviewId, key } = await openReview();
  await restart();
  const decision = { reviewId, expectedVersion: 1, reason: "seen in the books" };
  const done = { choice: ReviewChoice.DONE, result: json({ receipt: 7 }) };
  await clocked.grpc.unary(reviews.resolveReview, { ...decision, ...done });
  const decided = await eventsOf(clocked.grpc, "r");

  await restart();
  expect(await clocked.grpc.unary(reviews.resolveReview, { ...decision, ...done })).toMatchObject({
    existing: true,
  });
  await restart();
  const other = { ...decision, choice: ReviewChoice.RETRY };
  expect(await clocked.grpc.unary(reviews.resolveReview, other).catch(codeAndReason)).toBe(
    "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
  );
  await restart();
  expect(await eventsOf(clocked.grpc, "r")).toEqual(decided);

  const offer = await claimAndHold(clocked.grpc, "r");
  expect(await report(clocked.grpc, offer, { output: "done" })).toBe("accepted");
  const ended = await eventsOf(clocked.grpc, "r");
  await restart();
  for (const late of [{ ...decision, ...done }, other]) {
    await clocked.grpc.unary(reviews.resolveReview, late).catch(() => undefined);
    expect(await report(clocked.grpc, offer, { failure: "late" })).toBe(
      "PAWL_FINGERPRINT_CONFLICT",
    );
    await restart();
  }
  expect(await eventsOf(clocked.grpc, "r")).toEqual(ended);
  const { run: view } = await clocked.grpc.unary(run.getRun, { runId: "r" });
  expect(view?.status).toBe(RunStatus.COMPLETED);
  const { operation: settled } = await clocked.grpc.unary(ops.getOperation, { key });
  expect(settled).toMatchObject({ status: OperationStatus.OBSERVED });
  expect(await claimNow(clocked.grpc, "r")).toBeUndefined();
});
