import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { type Proposal, ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { World } from "./error-case.js";
import { complete, json, leasedRun, leaseRef, operation } from "./fixtures.js";
import type { RpcClient } from "./rpc-client.js";
import { resolution } from "./work-cases.js";

const { method: runs } = RunService;
const { method: approvals } = ApprovalService;
const { method: ops } = OperationService;
const { method: reviews } = ReviewService;

/** Makes what the cases refer to. */
export async function buildWorld(client: RpcClient): Promise<World> {
  const deletions = await makeDeletions(client);
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
  // It is stopping for as long as the tests may take on a busy machine.
  const slow = { name: "only", kind: "kind-stopping", cancelGrace: { seconds: 600n } };
  const plan = { tasks: [slow], output: "only" };
  const stopping = await leasedRun(client, "stopping", { plan });
  await client.unary(runs.cancelRun, { runId: "stopping" });
  const paused = await leasedRun(client, "paused");
  await client.unary(runs.pauseRun, { runId: "paused" });
  const proposals = await makeProposals(client, open);
  const { key } = answer.value;
  return {
    open,
    done,
    stopping,
    paused,
    key,
    reviewId,
    resolvedReviewId,
    ...proposals,
    ...deletions,
  };
}

/** A run that is deleted, one that is held, and one that ended with an effect of which nobody knows. */
async function makeDeletions(
  client: RpcClient,
): Promise<Pick<World, "deletedRunId" | "heldRunId" | "unsureRunId">> {
  for (const runId of ["deleted", "held"]) {
    await complete(client, await leasedRun(client, runId), "finished");
  }
  await client.unary(runs.deleteRun, { runId: "deleted" });
  await client.unary(AdminService.method.setLegalHold, { runId: "held", held: true });
  const unsure = await leasedRun(client, "unsure");
  await client.unary(ops.intendOperation, {
    ...{ holder: leaseRef(unsure), intentId: "i1", operation: operation("pay") },
  });
  await client.unary(runs.terminateRun, { runId: "unsure" });
  return { deletedRunId: "deleted", heldRunId: "held", unsureRunId: "unsure" };
}

type Proposals = Pick<
  World,
  "proposalId" | "proposalFingerprint" | "approvedProposalId" | "withdrawnProposalId"
>;

/** One proposal of the same action in each state that the cases need. */
async function makeProposals(client: RpcClient, open: Offer): Promise<Proposals> {
  const propose = async (key?: string): Promise<Proposal> => {
    const { proposal } = await client.unary(approvals.proposeAction, {
      ...{ holder: leaseRef(open), operation: "refund", target: "till" },
      ...{ payload: json({ cents: 12 }), requesterMayDecide: key !== undefined },
      ...(key === undefined ? {} : { key }),
    });
    if (proposal === undefined) throw new Error("Expected a proposal, but there is none.");
    return proposal;
  };
  const pending = await propose();
  const approved = await propose("approved");
  const withdrawn = await propose("withdrawn");
  await client.unary(approvals.decideProposal, {
    ...{ proposalId: approved.proposalId, fingerprint: approved.fingerprint },
    ...{ expectedVersion: 1, verdict: ProposalVerdict.APPROVE },
  });
  await client.unary(approvals.withdrawProposal, {
    ...{ proposalId: withdrawn.proposalId, expectedVersion: 1 },
  });
  return {
    proposalId: pending.proposalId,
    proposalFingerprint: pending.fingerprint,
    approvedProposalId: approved.proposalId,
    withdrawnProposalId: withdrawn.proposalId,
  };
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
