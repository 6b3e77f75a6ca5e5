import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { World } from "./error-case.js";
import { complete, leasedRun, leaseRef, operation } from "./fixtures.js";
import type { RpcClient } from "./rpc-client.js";
import { resolution } from "./work-cases.js";

const { method: runs } = RunService;
const { method: ops } = OperationService;
const { method: reviews } = ReviewService;

/** Makes what the cases refer to. */
export async function buildWorld(client: RpcClient): Promise<World> {
  const open = await leasedRun(client, "open");
  const done = await leasedRun(client, "done");
  await complete(client, done, "finished");
  const intended = await client.unary(ops.intendOperation, {
    holder: leaseRef(open),
    intentId: "i1",
    operation: operation("pay"),
  });
  const { answer } = intended.answer ?? {};
  if (answer?.case !== "proceed") {
    throw new Error(`Expected to proceed, but the answer is ${answer?.case}.`);
  }
  const reviewId = await openReview(client, "review-open");
  const resolvedReviewId = await openReview(client, "review-resolved");
  await client.unary(reviews.resolveReview, { ...resolution, reviewId: resolvedReviewId });
  const stopping = await leasedRun(client, "stopping");
  await client.unary(runs.cancelRun, { runId: "stopping" });
  const paused = await leasedRun(client, "paused");
  await client.unary(runs.pauseRun, { runId: "paused" });
  return { open, done, stopping, paused, key: answer.value.key, reviewId, resolvedReviewId };
}

/** An opaque operation whose outcome nobody knows: a person must say. */
async function openReview(client: RpcClient, runId: string): Promise<string> {
  const offer = await leasedRun(client, runId);
  const request = {
    holder: leaseRef(offer),
    operation: operation("wire", SinkKind.OPAQUE, { callTimeoutMs: 1 }),
  };
  const first = await client.unary(ops.intendOperation, { ...request, intentId: "i1" });
  const key = first.answer?.answer.value?.key ?? "";
  await client.unary(ops.observeOperation, {
    holder: leaseRef(offer),
    key,
    intentId: "i1",
    observation: { outcome: { case: "unknown", value: { kind: "Timeout", message: "cut off" } } },
  });
  for (;;) {
    const next = await client.unary(ops.intendOperation, { ...request, intentId: "i2" });
    const { answer } = next.answer ?? {};
    if (answer?.case === "review") {
      return answer.value.reviewId;
    }
  }
}
