import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import type {
  GuardSchema,
  ProposalDecisionSchema,
  ProposalSchema,
} from "@pawl/proto/v1/proposal_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Proposal, Run } from "../../core/state.js";
import { explainProposal } from "../../core/view/explain-proposal.js";
import { payloadOf, timestampView } from "./payload-view.js";
import { proposalId } from "./proposal-id.js";

/** What a proposal's view is made with. */
export interface ProposalViewOptions {
  readonly runNumber: number;
  readonly nowMs: number;
  /** Lists leave contents out. */
  readonly withPayload: boolean;
}

type ProposalInit = Omit<MessageInitShape<typeof ProposalSchema>, "$typeName">;

/** `pawl.v1.Proposal` of a proposal's state; undefined when the aggregate has no such proposal. */
export function proposalView(
  run: Run,
  number: number,
  options: ProposalViewOptions,
): ProposalInit | undefined {
  const proposal = run.proposals[number];
  return proposal === undefined
    ? undefined
    : { ...whatItIs(run, proposal, options), ...whatBecameOfIt(proposal, options) };
}

function whatItIs(run: Run, proposal: Proposal, options: ProposalViewOptions): ProposalInit {
  const { declaration } = proposal;
  const { scope, discriminator, payload, display } = declaration;
  const isNamespace = scope === OperationScope.NAMESPACE;
  const expiresAt = timestampView(declaration.expiresAtMs);
  return {
    proposalId: proposalId(options.runNumber, proposal.number),
    namespace: run.namespace,
    runId: isNamespace ? "" : run.runId,
    task: isNamespace ? "" : nameOfTask(run, declaration.task),
    operation: declaration.name,
    scope,
    operationKey: declaration.key,
    target: declaration.target,
    fingerprint: declaration.fingerprint,
    requester: declaration.requester,
    requesterAuthenticated: declaration.requesterAuthenticated,
    startedBy: isNamespace ? "" : run.principal,
    from: [...declaration.from],
    need: declaration.need,
    requesterMayDecide: declaration.requesterMayDecide,
    guards: declaration.guards.map((guard) => guardView(run, guard)),
    planVersion: declaration.planVersion,
    revises: numberedId(options, declaration.revises),
    ...(discriminator === undefined ? {} : { discriminator }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(display === undefined
      ? {}
      : { display: { ...display, fields: display.fields.map((field) => ({ ...field })) } }),
    ...(options.withPayload && payload !== undefined ? { payload: payloadOf(payload) } : {}),
  };
}

function whatBecameOfIt(proposal: Proposal, options: ProposalViewOptions): ProposalInit {
  const { nowMs, runNumber } = options;
  const proposedAt = timestampView(proposal.proposedAtMs);
  const approvedAt = timestampView(proposal.approvedAtMs);
  const endedAt = timestampView(proposal.endedAtMs);
  const { revisedBy } = proposal;
  const revisedById = revisedBy === undefined ? undefined : proposalId(runNumber, revisedBy);
  return {
    status: proposal.status,
    version: proposal.version,
    decisions: proposal.decisions.map(decisionView),
    revisedBy: revisedById ?? "",
    endedBy: proposal.endedBy,
    endReason: proposal.endReason,
    consumedByIntent: proposal.intentId,
    explanation: explainProposal(proposal, {
      nowMs,
      proposalId: proposalId(runNumber, proposal.number),
      revisedById,
    }),
    ...(proposedAt === undefined ? {} : { proposedAt }),
    ...(approvedAt === undefined ? {} : { approvedAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}

/** Id of the proposal with this number plus 1; empty for 0. */
function numberedId({ runNumber }: ProposalViewOptions, plusOne: number): string {
  return plusOne === 0 ? "" : proposalId(runNumber, plusOne - 1);
}

function guardView(
  run: Run,
  guard: Proposal["declaration"]["guards"][number],
): MessageInitShape<typeof GuardSchema> {
  if (guard.step === 0) {
    return { name: guard.name, held: { case: "value", value: guard.value } };
  }
  const step = run.steps[guard.step - 1];
  const observedAt = timestampView(guard.observedAtMs);
  return {
    name: guard.name,
    held: {
      case: "observation",
      value: {
        step: step?.name ?? "",
        maxAge: durationFromMs(guard.maxAgeMs),
        ...(step?.key === undefined ? {} : { key: step.key }),
        ...(observedAt === undefined ? {} : { observedAt }),
      },
    },
  };
}

function decisionView(
  decision: Proposal["decisions"][number],
): MessageInitShape<typeof ProposalDecisionSchema> {
  const { verdict, principal, authenticated, roles, reason, decidedAtMs } = decision;
  const decidedAt = timestampView(decidedAtMs);
  return {
    ...{ verdict, principal, authenticated, reason, roles: [...roles] },
    ...(decidedAt === undefined ? {} : { decidedAt }),
  };
}
