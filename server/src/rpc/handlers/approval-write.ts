import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  DecideProposalRequest,
  DecideProposalResponseSchema,
  ProposeActionRequest,
  ProposeActionResponseSchema,
  RevokeApprovalRequest,
  RevokeApprovalResponseSchema,
  WithdrawProposalRequest,
  WithdrawProposalResponseSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import type { Command } from "../../core/command.js";
import { approvalsMissing } from "../../core/proposals.js";
import { notFound } from "../../core/rejection.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { admit, admitFirst, isLarge } from "../admission.js";
import { type Accepted, type Durable, executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { targetOfIntent } from "../commands/operation.js";
import { payloadOfProposal, proposeCommand, scopeOf } from "../commands/proposal.js";
import { jsonDocumentOf } from "../content.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import {
  readNamespace,
  requireKnown,
  requireLength,
  requireNumber,
  requireReason,
} from "../validate/fields.js";
import { parseProposalId } from "../views/proposal-id.js";
import { proposalView } from "../views/proposal-view.js";
import { holderOf, noRun } from "./operation-write.js";
import { acknowledge } from "./requests.js";

/** Proposes an action. */
export async function proposeAction(
  edge: Edge,
  request: ProposeActionRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ProposeActionResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const isNamespace = scopeOf(request) === OperationScope.NAMESPACE;
  const lease = holderOf(request.holder, namespace, isNamespace);
  const digest = await digestLarge(edge, payloadOfProposal(request));
  const command = proposeCommand(request, { namespace, lease, digest });
  const target = targetOfIntent(command, lease?.target ?? noRun(namespace));
  if (lease !== undefined) {
    await acknowledge(edge, lease);
  }
  const store = isNamespace ? admitFirst : admit;
  const admitted = await store(edge, target, command.payload, "payload");
  const recorded = admitted === undefined ? command : { ...command, payload: admitted };
  const order = { target, command: recorded };
  const { value, position } = await withProposalId(request.revises, () =>
    executeOne(edge, order, call.caller, (accepted) => proposed(edge, accepted)),
  );
  return { ...value, position };
}

async function digestLarge(
  edge: Edge,
  payload: Uint8Array,
): Promise<Awaited<ReturnType<Edge["digester"]["digestJson"]>> | undefined> {
  const document = isLarge(payload) ? jsonDocumentOf(payload, "payload") : undefined;
  return document === undefined ? undefined : await edge.digester.digestJson(document);
}

/** The proposal that was made is the last one; an existing one is named by the reply. */
function proposed(
  edge: Edge,
  { reply, run, runNumber }: Accepted,
): Omit<MessageInitShape<typeof ProposeActionResponseSchema>, "$typeName"> {
  const number = reply.proposal?.number ?? run.proposals.length - 1;
  const { nowMs } = edge.kernel.info();
  const proposal = proposalView(run, number, { runNumber, nowMs, withPayload: false });
  return { existing: reply.existing, ...(proposal === undefined ? {} : { proposal }) };
}

/** Approves or rejects. */
export async function decideProposal(
  edge: Edge,
  request: DecideProposalRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof DecideProposalResponseSchema>> {
  const { fingerprint, verdict, reason } = request;
  const named = readNamed(request);
  requireLength(fingerprint, "fingerprint", 32);
  requireKnown(verdict, "verdict", ProposalVerdict);
  if (verdict === ProposalVerdict.UNSPECIFIED) {
    throw badField("verdict", "one of APPROVE, REJECT", "UNSPECIFIED");
  }
  requireReason(reason, "reason", verdict === ProposalVerdict.REJECT ? 1 : 0);
  const { value, position } = await onProposal(
    edge,
    { kind: "DecideProposal", ...named, reason, fingerprint, verdict },
    call,
    ({ reply, run }) => {
      const proposal = run.proposals[named.proposal];
      return {
        existing: reply.existing,
        version: proposal?.version ?? 0,
        approvalsMissing: proposal === undefined ? 0 : approvalsMissing(proposal),
        ...(proposal === undefined ? {} : { status: proposal.status }),
      };
    },
  );
  return { ...value, position };
}

/** Takes a pending proposal back. */
export async function withdrawProposal(
  edge: Edge,
  request: WithdrawProposalRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof WithdrawProposalResponseSchema>> {
  const { reason } = request;
  const named = readNamed(request);
  requireReason(reason, "reason");
  const command = { kind: "WithdrawProposal", ...named, reason } as const;
  const { value, position } = await onProposal(edge, command, call, (accepted) =>
    versionOf(named.proposal, accepted),
  );
  return { ...value, position };
}

/** Takes an approval back that was not used. */
export async function revokeApproval(
  edge: Edge,
  request: RevokeApprovalRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RevokeApprovalResponseSchema>> {
  const { reason } = request;
  const named = readNamed(request);
  requireReason(reason, "reason", 1);
  const command = { kind: "RevokeApproval", ...named, reason } as const;
  const { value, position } = await onProposal(edge, command, call, (accepted) =>
    versionOf(named.proposal, accepted),
  );
  return { ...value, position };
}

function versionOf(
  proposal: number,
  { reply, run }: Accepted,
): { readonly existing: boolean; readonly version: number } {
  return { existing: reply.existing, version: run.proposals[proposal]?.version ?? 0 };
}

/** What names a proposal in a request. */
interface NamedProposal {
  readonly namespace: string;
  readonly proposalId: string;
  readonly runNumber: number;
  readonly proposal: number;
  readonly expectedVersion: number;
}

function readNamed(request: {
  readonly namespace: string;
  readonly proposalId: string;
  readonly expectedVersion: number;
}): NamedProposal {
  const namespace = readNamespace(request.namespace);
  const { proposalId, expectedVersion } = request;
  const numbers = parseProposalId(proposalId);
  requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  return { namespace, proposalId, expectedVersion, ...numbers };
}

function onProposal<T>(
  edge: Edge,
  command: Extract<Command, { readonly proposalId: string }> & NamedProposal,
  call: CallContext,
  project: (accepted: Accepted) => T,
): Promise<Durable<T>> {
  const { runNumber: number, namespace } = command;
  const target: Target = { kind: "number", number, namespace };
  return withProposalId(command.proposalId, () =>
    executeOne(edge, { target, command }, call.caller, project),
  );
}

/** The kernel knows a proposal by its numbers; whoever asked knows it by its id. */
async function withProposalId<T>(proposalId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw restateProposal(error, proposalId);
  }
}

function restateProposal(error: unknown, proposalId: string): unknown {
  if (!(error instanceof RejectionError) || proposalId === "") {
    return error;
  }
  const isAbsent =
    error.code === "PAWL_PROPOSAL_NOT_FOUND" ||
    (error.code === "PAWL_RUN_NOT_FOUND" && error.rejection.detail?.case === "notFound");
  return isAbsent ? new RejectionError(notFound("proposal", proposalId)) : error;
}
