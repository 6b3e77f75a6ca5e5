import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import {
  type Guard,
  type Proposal,
  type ProposalDecision,
  ProposalVerdict,
} from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatusSchema } from "@pawl/proto/v1/proposal_status_pb.js";
import { enumCell, enumWord } from "./enum-word.js";
import { describePayload } from "./payload.js";
import { lookOf, type Style } from "./style.js";
import type { Cell } from "./table.js";
import { clean } from "./text.js";
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

/** Exactly what was fingerprinted: nothing else is approved. */
export function boundFields(proposal: Proposal): (readonly [string, string | undefined])[] {
  return [
    ["operation", proposal.operation],
    ["target", proposal.target === "" ? "(empty)" : proposal.target],
    ["content type", proposal.payload?.contentType],
    ["content", wholeContent(proposal.payload)],
    ["fingerprint", fingerprintOf(proposal)],
  ];
}

/** Nothing of what is approved is shortened. */
function wholeContent(payload: Payload | undefined): string | undefined {
  return payload === undefined ? undefined : describePayload(payload, Number.MAX_SAFE_INTEGER);
}

/** What is known besides, which is not part of the fingerprint. */
export function proposalFields(
  proposal: Proposal,
  clock: Clock,
): (readonly [string, string | undefined])[] {
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
    ...proposal.guards.map(
      (guard) => [`guard ${clean(guard.name)}`, describeGuard(guard)] as const,
    ),
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

function requesterOf({ requester, requesterAuthenticated, startedBy }: Proposal): string {
  const who = requesterAuthenticated ? requester : `${requester} (unauthenticated)`;
  return startedBy === "" || startedBy === requester ? who : `${who}, in a run of ${startedBy}`;
}

function describeGuard({ held }: Guard): string {
  if (held.case === "value") return held.value;
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

/** What a revised proposal changed of what is bound, by name: before and after. */
export function differences(
  before: Proposal,
  after: Proposal,
): (readonly [string, string, string])[] {
  const old = new Map(boundFields(before));
  const found = boundFields(after).flatMap(([name, value]) => {
    const was = old.get(name) ?? "";
    return name === "fingerprint" || was === (value ?? "")
      ? []
      : [[name, was, value ?? ""] as const];
  });
  // Content that cannot be shown may differ although it is told in the same words.
  return found.length > 0 || fingerprintOf(before) === fingerprintOf(after)
    ? found
    : [["fingerprint", fingerprintOf(before), fingerprintOf(after)]];
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
