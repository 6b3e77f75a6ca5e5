import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type InputRequest, InputRequestSchema } from "@pawl/proto/v1/input_pb.js";
import { type Proposal, ProposalSchema, ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { type Review, ReviewSchema, ReviewSubjectSchema } from "@pawl/proto/v1/review_pb.js";
import { tokenNeed } from "../deciders.js";
import { enumWord } from "../format/enum-word.js";
import { exactText } from "../format/exact-text.js";
import { shortFingerprint } from "../format/proposal.js";
import { choiceWords } from "../format/review.js";
import { clean, sentence, shorten } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { type Json, messageJson } from "../json.js";
import type { KernelSession } from "../with-kernel.js";
import { resolvers } from "./who.js";

/** One thing that waits for a person. */
export interface Entry {
  /** One sentence: what waits. */
  readonly headline: string;
  /** For whom, until when, and what else one should know, by name. */
  readonly fields: readonly (readonly [string, string | undefined])[];
  /** What reads and answers it, by name; words in capitals are to be filled in. */
  readonly commands: Readonly<Record<string, string>>;
  /** The message, under the name of its kind. */
  readonly json: { readonly [kind: string]: Json };
}

const SCHEMA_SHOWN = 200;

/** A proposal to decide. */
export function proposalEntry(session: KernelSession, proposal: Proposal): Entry {
  const { out, followUps } = session;
  const { proposalId, operation, target, display } = proposal;
  const id = out.style("bold", clean(proposalId));
  const on = target === "" ? "" : ` on ${quoteExactly(target)}`;
  const need = tokenNeed(session, proposal);
  const shown = ["--fingerprint", shortFingerprint(proposal), ...(need?.option ?? [])];
  return {
    headline: `Proposal ${id}: may ${quoteExactly(operation)}${on} be performed?`,
    fields: [
      ["title", display?.title],
      ["for", decidersOf(proposal)],
      ["until", untilOf(session, proposal.expiresAt)],
      ["from", placeOf(proposal)],
      ["needs", need?.why],
    ],
    commands: {
      read: followUps.command("approvals show", [proposalId]),
      ...(need === undefined ? {} : { token: need.make }),
      approve: followUps.command("approvals approve", [proposalId], shown),
      reject: followUps.command("approvals reject", [proposalId], [...shown, "--reason", "TEXT"]),
    },
    json: { proposal: messageJson(ProposalSchema, proposal) },
  };
}

/** In quotes, so that no two look the same. */
function quoteExactly(text: string): string {
  const exact = exactText(text);
  return exact.startsWith('"') ? exact : `"${exact}"`;
}

function decidersOf({ from, need, decisions }: Proposal): string {
  const have = decisions.filter(({ verdict }) => verdict === ProposalVerdict.APPROVE).length;
  const names = from.join(" or ");
  return need === 1 ? names : `${names}: ${need} must approve, ${have} did`;
}

/** A question to answer. */
export function inputEntry(session: KernelSession, input: InputRequest): Entry {
  const { out, followUps } = session;
  const { inputId, question, addressee, schema, version } = input;
  const seen = ["--expected-version", `${version}`];
  return {
    headline: `Question ${out.style("bold", clean(inputId))}: ${clean(question)}`,
    fields: [
      ["for", addressee === "" ? "anybody" : addressee],
      ["until", untilOf(session, input.expiresAt)],
      ["from", placeOf(input)],
      ["schema", shorten(schema, SCHEMA_SHOWN)],
    ],
    commands: {
      answer: followUps.command("inputs answer", [inputId], [...seen, "--value", "JSON"]),
      decline: followUps.command("inputs answer", [inputId], [...seen, "--decline", "TEXT"]),
    },
    json: { input: messageJson(InputRequestSchema, input) },
  };
}

/** A review to resolve. */
export function reviewEntry(session: KernelSession, review: Review): Entry {
  const { out, followUps } = session;
  const { reviewId, known, version, operationKey } = review;
  const seen = ["--expected-version", `${version}`];
  const subject = enumWord(ReviewSubjectSchema, review.subject).toLowerCase();
  return {
    headline: `Review ${out.style("bold", clean(reviewId))} of the ${subject}: ${clean(sentence(known))}`,
    fields: [
      ["for", resolvers.join(" or ")],
      ["until", "it is resolved"],
      ["from", placeOf(review)],
      ["operation", operationKey],
      ["choices", choiceWords(review).join(", ")],
    ],
    commands: {
      read: followUps.command("reviews show", [reviewId]),
      resolve: followUps.command(
        "reviews resolve",
        [reviewId],
        [...seen, "--choice", "CHOICE", "--reason", "TEXT"],
      ),
    },
    json: { review: messageJson(ReviewSchema, review) },
  };
}

function untilOf({ out }: KernelSession, at: Timestamp | undefined): string {
  return at === undefined ? "it is answered, without end" : formatTime(at, out.clock);
}

function placeOf({ runId, task }: { readonly runId: string; readonly task: string }): string {
  if (runId === "") return "no run: its operation stands for itself";
  return task === "" ? `run ${runId}` : `task ${task} of run ${runId}`;
}
