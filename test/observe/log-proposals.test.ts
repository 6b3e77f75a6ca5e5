import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { type Proposal, ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { expect, test } from "vitest";
import { json, leasedRun, leaseRef } from "../rpc/support/fixtures.js";
import { newDisk, openObserved } from "./support/observed-kernel.js";

const { method: approvals } = ApprovalService;
const marker = "MARKER-4711";

test("a proposal is named on its way with run, task, attempt, operation key and who decided, and nothing of its content", async () => {
  const observed = await openObserved(await newDisk());
  const { grpc } = observed;
  const holder = leaseRef(await leasedRun(grpc, "order-7"));
  const propose = async (key: string): Promise<Proposal> => {
    const { proposal } = await grpc.unary(approvals.proposeAction, {
      ...{ holder, operation: "refund", target: marker, payload: json({ card: marker }), key },
      display: { title: marker, note: marker, fields: [{ label: "card", value: marker }] },
      requesterMayDecide: true,
    });
    if (proposal === undefined) throw new Error("Expected a proposal, but there is none.");
    return proposal;
  };
  const [first, second] = [await propose("a"), await propose("b")];
  await grpc.unary(approvals.decideProposal, {
    ...{ proposalId: first.proposalId, fingerprint: first.fingerprint, expectedVersion: 1 },
    ...{ verdict: ProposalVerdict.APPROVE, reason: marker },
  });
  await grpc.unary(approvals.revokeApproval, {
    ...{ proposalId: first.proposalId, expectedVersion: 2, reason: marker },
  });
  await grpc.unary(approvals.decideProposal, {
    ...{ proposalId: second.proposalId, fingerprint: second.fingerprint, expectedVersion: 1 },
    ...{ verdict: ProposalVerdict.REJECT, reason: marker },
  });
  await observed.close();
  const told: Record<string, unknown>[] = observed.lines.map((line) => JSON.parse(line));
  const ofRun = { namespace: "default", run: "order-7", incarnation: 1, attempt: 1 };
  const keyOf = (key: string): string => `task/default/order-7/1/only/refund/1/${key}`;
  const named = (proposal: Proposal, key: string) => ({
    ...{ level: "info", ...ofRun, proposalId: proposal.proposalId, operationKey: keyOf(key) },
    task: "only",
  });
  expect(told.filter(({ proposalId }) => proposalId !== undefined)).toMatchObject([
    { ...named(first, "a"), message: "An action waits for approval: see pawl inbox" },
    { ...named(second, "b"), message: "An action waits for approval: see pawl inbox" },
    { ...named(first, "a"), message: "A proposal was approved", principal: "local" },
    {
      ...named(first, "a"),
      message: "An approval was revoked before it was used",
      principal: "local",
    },
    { ...named(second, "b"), message: "A proposal was rejected", principal: "local" },
  ]);
  expect(observed.lines.join("")).not.toContain(marker);
});
