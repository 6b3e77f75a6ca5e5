import { type InputRequest, InputRequestSchema } from "@pawl/proto/v1/input_pb.js";
import { type Proposal, ProposalSchema } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { type Review, ReviewSchema } from "@pawl/proto/v1/review_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { exactText } from "../format/exact-text.js";
import { inputHeadline } from "../format/input.js";
import { proposalHeadline } from "../format/proposal.js";
import { reviewHeadline } from "../format/review.js";
import { clean, count } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { messageJson } from "../json.js";
import { addKernelOptions, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, ROWS_DEFAULT } from "../paging.js";
import { readProposals } from "../read-proposal.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readInputs } from "./inputs-list.js";
import { readReviews } from "./reviews-list.js";

interface InboxOptions extends KernelOptions {
  readonly for?: string;
  readonly limit: number;
}

/** `pawl inbox`. */
export function addInbox(program: Command, context: CliContext): void {
  const command = program
    .command("inbox")
    .description("list everything that waits for a person")
    .option("--for <who>", "of proposals only those that this user:NAME or role:NAME may decide")
    .option("--limit <count>", "most things of each kind", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(command).action((options: InboxOptions) =>
    withKernel(context, options, (session) => printInbox(session, options)),
  );
}

async function printInbox(session: KernelSession, options: InboxOptions): Promise<void> {
  const { out } = session;
  const { limit } = options;
  const status = ProposalStatus.PENDING;
  const filter = { runId: "", status, addressee: options.for ?? "", limit };
  const proposals = await readProposals(session, filter);
  const inputs = await readInputs(session, { limit });
  const reviews = await readReviews(session, { runId: "", includeResolved: false, limit });
  if (out.isJson) {
    for (const each of proposals.items) out.json({ proposal: messageJson(ProposalSchema, each) });
    for (const each of inputs.items) out.json({ input: messageJson(InputRequestSchema, each) });
    for (const each of reviews.items) out.json({ review: messageJson(ReviewSchema, each) });
    return;
  }
  printProposals(session, proposals.items);
  printInputs(session, inputs.items);
  printReviews(session, reviews.items);
  if (proposals.items.length + inputs.items.length + reviews.items.length === 0) {
    out.lines("Nothing waits for a person here.");
  }
  if (proposals.hasMore || inputs.hasMore || reviews.hasMore) {
    out.notice("There is more than is listed; --limit lists more.");
  }
}

function printProposals({ out, followUps }: KernelSession, proposals: readonly Proposal[]): void {
  if (proposals.length === 0) return;
  out.lines(`${count(proposals.length, "proposal")} to decide, oldest first.`);
  for (const proposal of proposals) {
    out.lines("", proposalHeadline(proposal, out.style));
    out.fields([
      ["title", proposal.display?.title],
      ["target", exactText(proposal.target)],
      ["may decide", `${proposal.need} of ${proposal.from.join(", ")}`],
      ["expires", formatTime(proposal.expiresAt, out.clock)],
      ["look", followUps.command("approvals show", [proposal.proposalId])],
    ]);
  }
  out.lines("");
}

function printInputs({ out, followUps }: KernelSession, inputs: readonly InputRequest[]): void {
  if (inputs.length === 0) return;
  out.lines(`${count(inputs.length, "question")} to answer, oldest first.`);
  for (const input of inputs) {
    out.lines("", inputHeadline(input, out.style), `  ${clean(input.question)}`);
  }
  out.next([followUps.command("inputs list")]);
  out.lines("");
}

function printReviews({ out, followUps }: KernelSession, reviews: readonly Review[]): void {
  if (reviews.length === 0) return;
  out.lines(`${count(reviews.length, "review")} to resolve, oldest first.`);
  for (const review of reviews) {
    out.lines("", reviewHeadline(review, out.style), `  ${clean(review.known)}`);
  }
  out.next([followUps.command("reviews list")]);
}
