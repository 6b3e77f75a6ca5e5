// An approval counts only while whoever gave it might still give it: judged when it is used, by what the token file says then.
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json } from "../rpc/support/fixtures.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

const { proposeAction, decideProposal } = ApprovalService.method;
const { intendOperation } = OperationService.method;
const inDefault = (...roles: string[]) => [{ namespace: "default", roles }];
const scope = OperationScope.NAMESPACE;
const [target, key, payload] = ["account-7", "invoice-1", json({ cents: 12 })];

let server: GuardedServer;

beforeEach(async () => {
  server = await openGuardedServer();
});
afterEach(() => server.close());

/** Ann approves while she may; then she is what `after` says; then the approval is used. */
async function useAfter(from: readonly string[], after: readonly string[]): Promise<string> {
  const client = server.grpcWith((await server.mint("cron", inDefault("client"))).token);
  const ann = await server.mint("ann", inDefault("approver", "finance"));
  const asAnn = server.grpcWith(ann.token);
  const { proposal } = await client.unary(proposeAction, {
    ...{ operation: "pay", target, scope, key, payload },
    from: [...from],
  });
  const { proposalId = "", fingerprint = new Uint8Array(0) } = proposal ?? {};
  const decision = { proposalId, fingerprint, expectedVersion: 1 };
  await asAnn.unary(decideProposal, { ...decision, verdict: ProposalVerdict.APPROVE });
  await server.edit((entries) =>
    entries.map((entry) =>
      entry.id === ann.id ? { ...entry, grants: inDefault(...after) } : entry,
    ),
  );
  await server.mint("later", inDefault("client")); // It counts, so the change before it does.
  const { answer } = await client.unary(intendOperation, {
    operation: { name: "pay", scope, key, target, payload, sink: { kind: SinkKind.OPAQUE } },
    intentId: "i1",
  });
  const said = answer?.answer;
  return said?.case === "awaiting" && said.value.status === ProposalStatus.STALE
    ? "STALE"
    : (said?.case ?? "nothing");
}

test.each([
  { from: ["user:ann"], after: ["approver"], used: "proceed" },
  { from: ["user:ann"], after: ["client"], used: "STALE" },
  { from: ["user:ann"], after: ["client", "operator"], used: "STALE" },
  { from: ["role:finance"], after: ["approver", "finance"], used: "proceed" },
  { from: ["role:finance"], after: ["client", "finance"], used: "STALE" },
  { from: ["role:finance"], after: ["approver"], used: "STALE" },
])("an approval of $from by somebody who is $after since: $used", async ({ from, after, used }) => {
  expect(await useAfter(from, after)).toBe(used);
});
