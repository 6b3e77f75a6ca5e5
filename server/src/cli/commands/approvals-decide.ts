import { DecideProposalResponseSchema } from "@pawl/proto/v1/approval_service_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean, count } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { nextForProposal, readProposal, requireShown } from "../read-proposal.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface DecideOptions extends KernelOptions {
  readonly fingerprint: string;
  readonly reason?: string;
}

const fingerprintFlags = "--fingerprint <digits>";
const fingerprintHelp =
  "of what was shown to you: the first 16 hex digits or more, from approvals show";

/** `pawl approvals approve PROPOSAL` and `pawl approvals reject PROPOSAL`. */
export function addApprovalsDecide(group: Command, context: CliContext): void {
  const approve = group
    .command("approve")
    .description("approve exactly what was shown; the same again is answered as existing")
    .argument("<proposal>", "id of the proposal")
    .requiredOption(fingerprintFlags, fingerprintHelp)
    .option("--reason <text>", "why, for the record");
  addKernelOptions(approve).action((proposalId: string, options: DecideOptions) =>
    withKernel(
      context,
      options,
      (session) => decide(session, proposalId, ProposalVerdict.APPROVE, options),
      nextForProposal(proposalId),
    ),
  );
  const reject = group
    .command("reject")
    .description("reject what was shown; the same again is answered as existing")
    .argument("<proposal>", "id of the proposal")
    .requiredOption(fingerprintFlags, fingerprintHelp)
    .requiredOption("--reason <text>", "why, for the record");
  addKernelOptions(reject).action((proposalId: string, options: DecideOptions) =>
    withKernel(
      context,
      options,
      (session) => decide(session, proposalId, ProposalVerdict.REJECT, options),
      nextForProposal(proposalId),
    ),
  );
}

async function decide(
  session: KernelSession,
  proposalId: string,
  verdict: ProposalVerdict,
  options: DecideOptions,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const { proposal } = await readProposal(session, proposalId);
  requireShown(proposal, options.fingerprint, followUps);
  const { fingerprint } = proposal;
  // A proposal never changes, so the version that is decided on is the one in which it can be decided: the first.
  const request = { namespace, proposalId, expectedVersion: 1, fingerprint, verdict };
  const answer = await kernel.approvals.decideProposal(
    { ...request, reason: options.reason ?? "" },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ proposalId, ...messageFields(DecideProposalResponseSchema, answer) });
    return;
  }
  const name = `Proposal ${out.style("bold", clean(proposalId))}`;
  out.lines(
    answer.existing
      ? `${name} had been ${verdict === ProposalVerdict.REJECT ? "rejected" : "approved"} by you before; nothing was changed.`
      : `${name} ${consequenceOf(answer.status, answer.approvalsMissing)}`,
  );
  out.next([followUps.command("approvals show", [proposalId])]);
}

function consequenceOf(status: ProposalStatus, missing: number): string {
  switch (status) {
    case ProposalStatus.APPROVED:
      return "is approved: its operation may be performed once, exactly as it was shown.";
    case ProposalStatus.REJECTED:
      return "is rejected: its operation will not be performed.";
    default:
      return `has your approval; ${count(missing, "more approval")} ${missing === 1 ? "is" : "are"} needed.`;
  }
}
