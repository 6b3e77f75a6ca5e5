import { RevokeApprovalResponseSchema } from "@pawl/proto/v1/approval_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { nextForProposal, readProposal } from "../read-proposal.js";
import { withKernel } from "../with-kernel.js";

interface RevokeOptions extends KernelOptions {
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** `pawl approvals revoke PROPOSAL`. */
export function addApprovalsRevoke(group: Command, context: CliContext): void {
  const command = group
    .command("revoke")
    .description("take an approval back that was not used yet")
    .argument("<proposal>", "id of the proposal")
    .requiredOption("--reason <text>", "why, for the record")
    .option(
      "--expected-version <number>",
      "version you decided on, from approvals show (default: the present one)",
      wholeNumber(1, UINT32_MAX),
    );
  addKernelOptions(command).action((proposalId: string, options: RevokeOptions) =>
    withKernel(
      context,
      options,
      async (session) => {
        const { kernel, namespace, out, followUps } = session;
        const { reason } = options;
        const expectedVersion =
          options.expectedVersion ?? (await readProposal(session, proposalId)).proposal.version;
        const answer = await kernel.approvals.revokeApproval(
          { namespace, proposalId, expectedVersion, reason },
          { timeoutMs: CALL_TIMEOUT_MS },
        );
        if (out.isJson) {
          out.json({ proposalId, ...messageFields(RevokeApprovalResponseSchema, answer) });
          return;
        }
        const name = `The approval of proposal ${out.style("bold", clean(proposalId))}`;
        out.lines(
          answer.existing
            ? `${name} had been revoked before; nothing was changed.`
            : `${name} is revoked: its operation will not be performed.`,
        );
        out.next([followUps.command("approvals show", [proposalId])]);
      },
      nextForProposal(proposalId),
    ),
  );
}
