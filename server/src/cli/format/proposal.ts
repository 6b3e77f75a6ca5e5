import {
  type Guard,
  type Proposal,
  type ProposalDecision,
  ProposalVerdict,
} from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatusSchema } from "@pawl/proto/v1/proposal_status_pb.js";
import { enumCell, enumWord } from "./enum-word.js";
import { exactText } from "./exact-text.js";
import type { Field } from "./field.js";
import { foldLines, INLINE_COLUMNS } from "./fold.js";
import type { ShownContent } from "./proposal-content.js";
import { lookOf, type Style } from "./style.js";
import type { Cell } from "./table.js";
import { clean, displayWidth } from "./text.js";
import { type Clock, formatLength, formatTime } from "./time.js";

/** Hex digits of a fingerprint that are shown where it is restated. */
const DIGITS_SHOWN = 16;

/** A fingerprint in full. */
export function fingerprintOf({ fingerprint }: Pick<Proposal, "fingerprint">): string {
  return Buffer.from(fingerprint).toString("hex");
}

/** As much of a fingerprint as a decision must restate. */
export function shortFingerprint(proposal: Pick<Proposal, "fingerprint">): string {
  return fingerprintOf(proposal).slice(0, DIGITS_SHOWN);
}

/** One sentence: which proposal, and where it stands. */
export function proposalHeadline(proposal: Proposal, style: Style): string {
  const status = enumWord(ProposalStatusSchema, proposal.status);
  return `Proposal ${style("bold", clean(proposal.proposalId))} of "${clean(proposal.operation)}" is ${style(lookOf(status), status)}.`;
}

/** Exactly what was fingerprinted: nothing else is approved. What of the content is no field is in `ShownContent.lines`. */
export function boundFields(
  proposal: Proposal,
  content: ShownContent,
): (readonly [string, string])[] {
  return [
    ["operation", exactText(proposal.operation)],
    ["target", exactText(proposal.target)],
    ...content.fields,
    ["fingerprint", fingerprintOf(proposal)],
  ];
}

/** What is known besides, which is not part of the fingerprint. */
export function proposalFields(proposal: Proposal, clock: Clock): Field[] {
  const { display } = proposal;
  const ended = proposal.endedAt === undefined ? undefined : formatTime(proposal.endedAt, clock);
  return [
    ["title", display?.title],
    ["note", display?.note],
    ...(display?.fields ?? []).map(({ label, value }) => [clean(label), value] as const),
    ["run", proposal.runId],
    ["task", proposal.task],
    ["requested by", requesterOf(proposal)],
    ["may decide", `${proposal.need} of ${proposal.from.join(", ")}`],
    ["proposed", formatTime(proposal.proposedAt, clock)],
    ["expires", formatTime(proposal.expiresAt, clock)],
    ...proposal.guards.map((guard) => [`guard ${clean(guard.name)}`, guardValue(guard)] as const),
    ...proposal.decisions.map(
      (decision) => ["decision", describeDecision(decision, clock)] as const,
    ),
    ["ended", ended],
    ["ended by", proposal.endedBy],
    ["reason", proposal.endReason],
    ["revises", proposal.revises],
    ["revised by", proposal.revisedBy],
    ["operation key", proposal.operationKey],
    ["version", `${proposal.version}`],
  ];
}

/** Who proposed, and in whose run. */
export function requesterOf({ requester, requesterAuthenticated, startedBy }: Proposal): string {
  const who = requesterAuthenticated ? requester : `${requester} (unauthenticated)`;
  return startedBy === "" || startedBy === requester ? who : `${who}, in a run of ${startedBy}`;
}

/** A value is told exactly: it cannot be taken for another, nor for an observation. */
function guardValue({ held }: Guard): string | string[] {
  if (held.case === "value") {
    const exact = exactText(held.value);
    return displayWidth(exact) <= INLINE_COLUMNS ? exact : foldLines([exact]);
  }
  if (held.case !== "observation") return "unknown to this version";
  const { step, key, maxAge } = held.value;
  const ms = maxAge === undefined ? 0 : Number(maxAge.seconds) * 1000 + maxAge.nanos / 1e6;
  return `read "${step}${key === undefined ? "" : `/${key}`}" at most ${formatLength(ms)} old`;
}

/** Who decided what, and why. */
export function describeDecision(decision: ProposalDecision, clock: Clock): string {
  const { verdict, principal, authenticated, roles, reason, decidedAt } = decision;
  const word = verdict === ProposalVerdict.REJECT ? "rejected" : "approved";
  const who = authenticated ? principal : `${principal} (unauthenticated)`;
  const as = roles.length === 0 ? "" : ` as ${roles.join(", ")}`;
  const why = reason === "" ? "" : `: ${reason}`;
  return `${word} by ${who}${as}, ${formatTime(decidedAt, clock)}${why}`;
}

/** A proposal with its content. */
export interface WholeProposal {
  readonly proposal: Proposal;
  readonly content: ShownContent;
}

/** What a revised proposal changed of what is bound, by name: before and after. */
export function differences(
  before: WholeProposal,
  after: WholeProposal,
): (readonly [string, string, string])[] {
  const [old, now] = [comparedFields(before), comparedFields(after)];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].flatMap((name) => {
    const [was = "", is = ""] = [old.get(name), now.get(name)];
    return was === is ? [] : [[name, was, is] as const];
  });
}

/** The fingerprint is told last, and alone where nothing else that can be shown differs. */
function comparedFields({ proposal, content }: WholeProposal): Map<string, string> {
  const fields = new Map(boundFields(proposal, content));
  if (content.lines.length > 0) fields.set("content", content.lines.join("\n"));
  return fields;
}

/** Headings of a list of proposals. */
export const PROPOSAL_HEADINGS: readonly string[] = [
  "PROPOSAL",
  "STATUS",
  "OPERATION",
  "TARGET",
  "MAY DECIDE",
  "EXPIRES",
  "RUN",
];

/** A proposal as a row of a list. */
export function proposalRow(proposal: Proposal, clock: Clock): Cell[] {
  return [
    proposal.proposalId,
    enumCell(ProposalStatusSchema, proposal.status),
    proposal.operation,
    proposal.target,
    proposal.from.join(", "),
    formatTime(proposal.expiresAt, clock),
    proposal.runId,
  ];
}
