import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { type Case, long, lost, noRun, refused, type World } from "./error-case.js";
import { json, leaseRef, operation } from "./fixtures.js";

const { method: approvals } = ApprovalService;
const { method: ops } = OperationService;

const action = { operation: "refund", target: "till", payload: json({ cents: 12 }) };
const fingerprint = new Uint8Array(32);
const verdict = ProposalVerdict.APPROVE;

const propose = (
  expected: string,
  parts: (
    world: World,
  ) => Parameters<typeof refused<typeof approvals.proposeAction>>[2] extends (
    world: World,
  ) => infer Init
    ? Init
    : never,
): Case => refused(approvals.proposeAction, expected, parts);

const holder = ({ open }: World): ReturnType<typeof leaseRef> => leaseRef(open);

/** Every documented error of ProposeAction. */
const proposeCases: readonly Case[] = [
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", () => action),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ holder: holder(world), operation: "refund" },
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ ...action, holder: holder(world), operation: long },
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ ...action, holder: holder(world), from: ["finance"] },
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ ...action, holder: holder(world), need: 21 },
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ ...action, holder: holder(world), expiresIn: { seconds: 0n, nanos: 0 } },
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ ...action, holder: holder(world), guards: [{ name: "document" }] },
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", (world) => ({
    ...{ ...action, operation: "guarded", holder: holder(world) },
    guards: [
      {
        name: "quote",
        held: { case: "observation", value: { step: "never read", maxAge: { seconds: 60n } } },
      },
    ],
  })),
  propose("INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    ...{ ...action, scope: OperationScope.NAMESPACE },
  })),
  propose("NOT_FOUND PAWL_RUN_NOT_FOUND", (world) => ({
    ...{ ...action, holder: { ...holder(world), ...noRun } },
  })),
  propose("NOT_FOUND PAWL_TASK_NOT_FOUND", (world) => ({
    ...{ ...action, holder: { ...holder(world), task: "nobody" } },
  })),
  propose("NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", (world) => ({
    ...{ ...action, holder: holder(world), revises: "nonsense" },
  })),
  propose("NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", (world) => ({
    ...{ ...action, holder: holder(world), key: "other", revises: world.proposalId },
  })),
  propose("NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", (world) => ({
    ...{ ...action, holder: holder(world) },
    revises: `9${world.proposalId}`,
  })),
  propose("FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({ ...action, holder: lost(world) })),
  propose("FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    ...action,
    holder: leaseRef(done),
  })),
  propose("FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", (world) => ({
    ...{ ...action, holder: holder(world), operation: "pay" },
  })),
  propose("ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT", (world) => ({
    ...{ ...action, holder: holder(world), payload: json({ cents: 13 }) },
  })),
];

/** Every documented error of ApprovalService that is a status. */
export const approvalCases: readonly Case[] = [
  ...proposeCases,
  refused(approvals.decideProposal, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", ({ proposalId }) => ({
    ...{ proposalId: `${proposalId}9`, expectedVersion: 1, fingerprint, verdict },
  })),
  refused(approvals.decideProposal, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", () => ({
    ...{ proposalId: "999999-p0", expectedVersion: 1, fingerprint, verdict },
  })),
  refused(approvals.decideProposal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ proposalId }) => ({
    ...{ proposalId, expectedVersion: 1, fingerprint: new Uint8Array(31), verdict },
  })),
  refused(approvals.decideProposal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ proposalId }) => ({
    ...{ proposalId, expectedVersion: 0, fingerprint, verdict },
  })),
  refused(approvals.decideProposal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ proposalId }) => ({
    ...{ proposalId, expectedVersion: 1, fingerprint },
  })),
  refused(approvals.decideProposal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ proposalId }) => ({
    ...{ proposalId, expectedVersion: 1, fingerprint, verdict: ProposalVerdict.REJECT },
  })),
  refused(
    approvals.decideProposal,
    "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    ({ proposalId }) => ({ proposalId, expectedVersion: 1, fingerprint, verdict }),
  ),
  refused(approvals.decideProposal, "FAILED_PRECONDITION PAWL_STALE_VERSION", (world) => ({
    ...{ proposalId: world.proposalId, fingerprint: world.proposalFingerprint },
    ...{ expectedVersion: 7, verdict },
  })),
  refused(approvals.decideProposal, "PERMISSION_DENIED PAWL_NOT_ENTITLED", (world) => ({
    ...{ proposalId: world.proposalId, fingerprint: world.proposalFingerprint },
    ...{ expectedVersion: 1, verdict },
  })),
  refused(approvals.decideProposal, "FAILED_PRECONDITION PAWL_PROPOSAL_CLOSED", (world) => ({
    ...{ proposalId: world.withdrawnProposalId, fingerprint: world.proposalFingerprint },
    ...{ expectedVersion: 1, verdict },
  })),
  refused(approvals.withdrawProposal, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", () => ({
    ...{ proposalId: "999999-p0", expectedVersion: 1 },
  })),
  refused(approvals.withdrawProposal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    ...{ proposalId: "", expectedVersion: 1 },
  })),
  refused(
    approvals.withdrawProposal,
    "FAILED_PRECONDITION PAWL_STALE_VERSION",
    ({ proposalId }) => ({ proposalId, expectedVersion: 7 }),
  ),
  refused(
    approvals.withdrawProposal,
    "FAILED_PRECONDITION PAWL_PROPOSAL_CLOSED",
    ({ approvedProposalId: proposalId }) => ({ proposalId, expectedVersion: 2 }),
  ),
  refused(approvals.revokeApproval, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", () => ({
    ...{ proposalId: "999999-p0", expectedVersion: 2, reason: "wrong" },
  })),
  refused(approvals.revokeApproval, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ proposalId }) => ({
    ...{ proposalId, expectedVersion: 2 },
  })),
  refused(
    approvals.revokeApproval,
    "FAILED_PRECONDITION PAWL_PROPOSAL_CLOSED",
    ({ proposalId }) => ({ proposalId, expectedVersion: 1, reason: "wrong" }),
  ),
  refused(
    approvals.revokeApproval,
    "FAILED_PRECONDITION PAWL_STALE_VERSION",
    ({ approvedProposalId: proposalId }) => ({ proposalId, expectedVersion: 9, reason: "wrong" }),
  ),
  refused(approvals.awaitApproval, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", () => ({
    proposalId: "999999-p0",
  })),
  refused(approvals.awaitApproval, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", ({ proposalId }) => ({
    proposalId: `${proposalId}9`,
  })),
  refused(approvals.getProposal, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", () => ({
    which: { case: "proposalId" as const, value: "999999-p0" },
  })),
  refused(approvals.getProposal, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", ({ key }) => ({
    which: { case: "operationKey" as const, value: key },
  })),
  refused(approvals.getProposal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({})),
  refused(approvals.listProposals, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", () => ({
    pageToken: "zzz",
  })),
  refused(approvals.listProposals, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    addressee: "finance",
  })),
  refused(approvals.listProposals, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(approvals.watchProposals, "INVALID_ARGUMENT PAWL_INVALID_POSITION", () => ({
    position: Uint8Array.of(1, 2, 3),
  })),
  refused(ops.intendOperation, "NOT_FOUND PAWL_PROPOSAL_NOT_FOUND", (world) => ({
    ...{ holder: holder(world), intentId: "x" },
    operation: operation("unproposed", undefined, { proposalId: world.proposalId }),
  })),
];
