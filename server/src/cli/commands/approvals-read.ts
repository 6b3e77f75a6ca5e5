import { GetProposalResponseSchema } from "@pawl/proto/v1/approval_service_pb.js";
import { type Proposal, ProposalSchema } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus, ProposalStatusSchema } from "@pawl/proto/v1/proposal_status_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { enumChoices } from "../format/enum-word.js";
import {
  boundFields,
  differences,
  PROPOSAL_HEADINGS,
  proposalFields,
  proposalHeadline,
  proposalRow,
  shortFingerprint,
} from "../format/proposal.js";
import { clean, count } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, enumWordOption, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, ROWS_DEFAULT } from "../paging.js";
import { type FoundProposal, readProposal, readProposals } from "../read-proposal.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface ListOptions extends KernelOptions {
  readonly run?: string;
  readonly status?: ProposalStatus;
  readonly for?: string;
  readonly limit: number;
}

/** `pawl approvals list`. */
export function addApprovalsList(group: Command, context: CliContext): void {
  const command = group
    .command("list")
    .description("list proposals: by default those that wait for a decision, oldest first")
    .option("--run <run>", "only proposals of this run, in whatever state")
    .option(
      "--status <status>",
      `only proposals in this state: ${enumChoices(ProposalStatusSchema).join(", ")}`,
      enumWordOption(ProposalStatusSchema),
    )
    .option("--for <who>", "only those that this user:NAME or role:NAME may decide")
    .option("--limit <count>", "most proposals to list", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(command).action((options: ListOptions) =>
    withKernel(context, options, async (session) => {
      const { items, hasMore } = await readProposals(session, {
        runId: options.run ?? "",
        status: options.status ?? ProposalStatus.UNSPECIFIED,
        addressee: options.for ?? "",
        limit: options.limit,
      });
      printProposals(session, items);
      if (hasMore) {
        session.out.notice(
          `There are more than ${count(items.length, "proposal")}; --limit lists more.`,
        );
      }
    }),
  );
}

function printProposals({ out, followUps }: KernelSession, proposals: readonly Proposal[]): void {
  if (out.isJson) {
    for (const proposal of proposals) out.message(ProposalSchema, proposal);
    return;
  }
  const [first] = proposals;
  if (first === undefined) {
    out.lines("No proposal matches.");
    return;
  }
  out.lines(`${count(proposals.length, "proposal")}, oldest first.`);
  out.table(
    PROPOSAL_HEADINGS,
    proposals.map((proposal) => proposalRow(proposal, out.clock)),
  );
  out.next([followUps.command("approvals show", [first.proposalId])]);
}

/** `pawl approvals show PROPOSAL`. */
export function addApprovalsShow(group: Command, context: CliContext): void {
  const command = group
    .command("show")
    .description("show exactly what a proposal binds, what is known besides, and what it changed")
    .argument("<proposal>", "id of the proposal");
  addKernelOptions(command).action((proposalId: string, options: KernelOptions) =>
    withKernel(context, options, async (session) => {
      const found = await readProposal(session, proposalId);
      if (session.out.isJson) {
        session.out.json(messageFields(GetProposalResponseSchema, answerOf(found)));
        return;
      }
      printProposal(session, found);
    }),
  );
}

function answerOf({
  proposal,
  revised,
}: FoundProposal): Parameters<typeof messageFields<typeof GetProposalResponseSchema>>[1] {
  return {
    $typeName: "pawl.v1.GetProposalResponse",
    proposal,
    ...(revised === undefined ? {} : { revised }),
  };
}

/** Prints a proposal: what is bound first, apart from everything that is only told. */
export function printProposal(session: KernelSession, { proposal, revised }: FoundProposal): void {
  const { out } = session;
  out.lines(proposalHeadline(proposal, out.style), clean(proposal.explanation));
  out.lines("", out.style("bold", "Bound by the fingerprint:"));
  out.fields(boundFields(proposal));
  out.lines("", out.style("bold", "Not bound by it:"));
  out.fields(proposalFields(proposal, out.clock));
  if (revised !== undefined) {
    printDifference(session, revised, proposal);
  }
  out.next(nextOf(session, proposal));
}

function printDifference({ out }: KernelSession, before: Proposal, after: Proposal): void {
  const changed = differences(before, after);
  out.lines("", out.style("bold", `Changed since proposal ${clean(before.proposalId)}:`));
  if (changed.length === 0) {
    out.lines("  nothing that is bound");
  }
  for (const [name, was, is] of changed) {
    out.lines(`  ${name}`, `    - ${clean(was)}`, `    + ${clean(is)}`);
  }
}

function nextOf({ followUps }: KernelSession, proposal: Proposal): string[] {
  const { proposalId, status, operationKey, revisedBy } = proposal;
  const restated = ["--fingerprint", shortFingerprint(proposal)];
  switch (status) {
    case ProposalStatus.PENDING:
      return [
        followUps.command("approvals approve", [proposalId], restated),
        followUps.command("approvals reject", [proposalId], [...restated, "--reason", "TEXT"]),
      ];
    case ProposalStatus.APPROVED:
      return [followUps.command("approvals revoke", [proposalId], ["--reason", "TEXT"])];
    case ProposalStatus.CONSUMED:
      return [followUps.command("op show", [operationKey])];
    default:
      return revisedBy === "" ? [] : [followUps.command("approvals show", [revisedBy])];
  }
}
