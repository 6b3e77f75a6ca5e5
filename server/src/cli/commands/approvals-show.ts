import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { GetProposalResponseSchema } from "@pawl/proto/v1/approval_service_pb.js";
import type { Proposal } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import type { CliContext } from "../context.js";
import { tokenNeed } from "../deciders.js";
import {
  boundFields,
  differences,
  proposalFields,
  proposalHeadline,
  shortFingerprint,
  type WholeProposal,
} from "../format/proposal.js";
import { type ProposalContent, showContent } from "../format/proposal-content.js";
import { clean, count } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { readContent, wholePayload } from "../read-content.js";
import { readProposal } from "../read-proposal.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface ShowOptions extends KernelOptions {
  readonly out?: string;
}

/** `pawl approvals show PROPOSAL`. */
export function addApprovalsShow(group: Command, context: CliContext): void {
  const command = group
    .command("show")
    .description("show exactly what a proposal binds, what is known besides, and what it changed")
    .argument("<proposal>", "id of the proposal")
    .option(
      "--out <file>",
      "also save the content, byte for byte, in a file that is not there yet",
    );
  addKernelOptions(command).action((proposalId: string, options: ShowOptions) =>
    withKernel(context, options, (session) => show(session, proposalId, options)),
  );
}

async function show(
  session: KernelSession,
  proposalId: string,
  { out: file }: ShowOptions,
): Promise<void> {
  const { out } = session;
  const { proposal, revised } = await readProposal(session, proposalId);
  const content = await readContent(session, proposal);
  const before = revised === undefined ? undefined : await wholeOf(session, revised);
  if (out.isJson) {
    out.json(
      messageFields(GetProposalResponseSchema, {
        $typeName: "pawl.v1.GetProposalResponse",
        proposal: withContent(proposal, content),
        ...(before === undefined ? {} : { revised: withContent(before.proposal, before.read) }),
      }),
    );
  } else {
    printProposal(session, { proposal, content: showContent(content) }, before);
  }
  if (file !== undefined) await save(session, file, content);
}

async function wholeOf(
  session: KernelSession,
  proposal: Proposal,
): Promise<WholeProposal & { readonly read: ProposalContent | undefined }> {
  const read = await readContent(session, proposal);
  return { proposal, content: showContent(read), read };
}

function withContent(proposal: Proposal, content: ProposalContent | undefined): Proposal {
  return content === undefined ? proposal : { ...proposal, payload: wholePayload(content) };
}

async function save(
  { context, out }: KernelSession,
  file: string,
  content: ProposalContent | undefined,
): Promise<void> {
  if (content === undefined) {
    throw usageError("Expected a proposal with content for --out, but it has none.");
  }
  const path = resolve(context.cwd, file);
  try {
    await writeFile(path, content.bytes, { flag: "wx" });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(
      `Expected to save the content in a new file ${path}, but it cannot be written: ${why}.`,
      ["Name a file that is not there yet, in a folder that is: --out FILE"],
    );
  }
  out.notice(
    `The content is in ${path}: ${count(content.bytes.length, "byte")}, SHA-256 ${content.sha256}.`,
  );
}

/** Prints a proposal: what is bound first, apart from everything that is only told. */
function printProposal(
  session: KernelSession,
  whole: WholeProposal,
  before: WholeProposal | undefined,
): void {
  const { out } = session;
  const { proposal, content } = whole;
  out.lines(proposalHeadline(proposal, out.style), clean(proposal.explanation));
  out.lines("", out.style("bold", "Bound by the fingerprint:"));
  out.fields(boundFields(proposal, content));
  if (content.lines.length > 0) out.lines(`  ${out.style("dim", "content:")}`, ...content.lines);
  out.lines("", out.style("bold", "Not bound by it:"));
  out.fields(proposalFields(proposal, out.clock));
  if (before !== undefined) printDifference(session, before, whole);
  out.next(nextOf(session, whole));
}

function printDifference(
  { out }: KernelSession,
  before: WholeProposal,
  after: WholeProposal,
): void {
  const changed = differences(before, after);
  const told = changed.length > 1 ? changed.filter(([name]) => name !== "fingerprint") : changed;
  out.lines("", out.style("bold", `Changed since proposal ${clean(before.proposal.proposalId)}:`));
  if (told.length === 0) {
    out.lines("  nothing that is bound");
  }
  for (const [name, was, is] of told) {
    out.lines(`  ${name}`, ...marked("-", was), ...marked("+", is));
  }
}

function marked(mark: string, text: string): string[] {
  return text.split("\n").map((line) => `    ${mark} ${line.replace(/^ {4}(?=\|)/, "")}`);
}

function nextOf(session: KernelSession, { proposal, content }: WholeProposal): string[] {
  const { followUps } = session;
  const { proposalId, status, operationKey, revisedBy } = proposal;
  const restated = ["--fingerprint", shortFingerprint(proposal)];
  const look = content.isOpaque
    ? [followUps.command("approvals show", [proposalId], ["--out", "FILE"])]
    : [];
  switch (status) {
    case ProposalStatus.PENDING: {
      const need = tokenNeed(session, proposal);
      const shown = [...restated, ...(need?.option ?? [])];
      return [
        ...look,
        ...(need === undefined
          ? []
          : [
              `Deciding needs ${need.why}. The first token (--dir FOLDER where the kernel's is not .pawl) makes all others need one too.`,
              need.make,
            ]),
        followUps.command("approvals approve", [proposalId], shown),
        followUps.command("approvals reject", [proposalId], [...shown, "--reason", "TEXT"]),
      ];
    }
    case ProposalStatus.APPROVED:
      return [...look, followUps.command("approvals revoke", [proposalId], ["--reason", "TEXT"])];
    case ProposalStatus.CONSUMED:
      return [...look, followUps.command("op show", [operationKey])];
    default:
      return revisedBy === "" ? look : [...look, followUps.command("approvals show", [revisedBy])];
  }
}
