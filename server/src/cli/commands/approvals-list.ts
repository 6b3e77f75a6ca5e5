import { type Proposal, ProposalSchema } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus, ProposalStatusSchema } from "@pawl/proto/v1/proposal_status_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { enumChoices } from "../format/enum-word.js";
import { PROPOSAL_HEADINGS, proposalRow } from "../format/proposal.js";
import { count } from "../format/text.js";
import { addKernelOptions, enumWordOption, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, printList, ROWS_DEFAULT } from "../paging.js";
import { readProposals } from "../read-proposal.js";
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
      const list = await readProposals(session, {
        runId: options.run ?? "",
        status: options.status ?? ProposalStatus.UNSPECIFIED,
        addressee: options.for ?? "",
        limit: options.limit,
      });
      printList(session.out, list, {
        schema: ProposalSchema,
        noun: "proposal",
        print: (proposals) => printProposals(session, proposals),
      });
    }),
  );
}

function printProposals({ out, followUps }: KernelSession, proposals: readonly Proposal[]): void {
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
