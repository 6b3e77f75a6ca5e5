import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type GetRecoveryReportResponse,
  RecoveryClass,
  type RecoveryLine,
  type RecoveryProof,
  type RecoveryTotal,
} from "@pawl/proto/v1/recovery_pb.js";
import { RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import { enumWord } from "./enum-word.js";
import {
  markdownCell,
  markdownCode,
  markdownDetails,
  markdownTable,
  markdownText,
} from "./markdown.js";
import { classWord, describeTotals } from "./report.js";
import { sentence } from "./text.js";

/** What needs a person comes first, then what went on with a difference, then what did not. */
const ORDER: readonly RecoveryClass[] = [
  RecoveryClass.NEEDS_REVIEW,
  RecoveryClass.WAITING,
  RecoveryClass.RECONCILED,
  RecoveryClass.RETRIED,
  RecoveryClass.REUSED,
  RecoveryClass.SUPERSEDED,
  RecoveryClass.SKIPPED,
  RecoveryClass.UNTOUCHED,
];

/** Most characters of a hash that are shown: enough to find it. */
const HASH_CHARACTERS = 16;

/** The report of a run as a ticket in GitHub-flavoured Markdown. */
export function reportMarkdown(report: GetRecoveryReportResponse): string[] {
  const { runId, status, why, lines, totals, incarnation, presentIncarnation } = report;
  const word = enumWord(RunStatusSchema, status);
  const of = presentIncarnation > 1 ? `, incarnation ${incarnation} of ${presentIncarnation}` : "";
  return [
    `# Recovery report: run ${markdownCode(runId)}${of}`,
    "",
    `**${word}.** ${markdownText(sentence(why))} ${sentence(describeTotals(totals))}`,
    "",
    ...totalsMarkdown(totals),
    ...linesMarkdown(lines.map((line) => ({ line }))),
    "",
    `Computed from ${report.eventCount} events of the log.`,
  ];
}

/** How much is in each class. */
export function totalsMarkdown(totals: readonly RecoveryTotal[]): string[] {
  return markdownTable(
    ["class", "tasks", "operations"],
    totals.map(({ class: kind, tasks, operations }) => [
      classWord(kind),
      `${tasks}`,
      `${operations}`,
    ]),
  );
}

/** A line, and which run it is of when a report is of several. */
export interface LineOfRun {
  readonly line: RecoveryLine;
  readonly runId?: string;
}

/** What needs a person, told; and all else by class, folded. */
export function linesMarkdown(lines: readonly LineOfRun[]): string[] {
  return ORDER.flatMap((kind) => {
    const some = lines.filter(({ line }) => line.class === kind);
    if (some.length === 0) return [];
    return kind === RecoveryClass.NEEDS_REVIEW
      ? ["", "## Needs a person", "", ...some.map(told)]
      : ["", ...markdownDetails(`${classWord(kind)} (${some.length})`, tableOf(some))];
  });
}

function told({ line, runId }: LineOfRun): string {
  const names = [runId ?? "", line.task, line.operationKey].filter((name) => name !== "");
  return `- ${names.map(markdownCode).join(" / ")}: ${markdownText(line.sentence)} ${evidenceOf(line)}`.trimEnd();
}

function tableOf(lines: readonly LineOfRun[]): string[] {
  const isOfSeveral = lines.some(({ runId }) => runId !== undefined);
  const headings = ["task", "operation", "what happened", "attempts", "ended", "proof"];
  return markdownTable(
    isOfSeveral ? ["run", ...headings] : headings,
    lines.map(({ line, runId }) => [
      ...(isOfSeveral ? [markdownCell(runId ?? "")] : []),
      markdownCell(line.task),
      markdownCell(line.operationKey),
      markdownText(line.sentence),
      line.attemptsMax === 0
        ? `${line.attemptsUsed}`
        : `${line.attemptsUsed} of ${line.attemptsMax}`,
      atOf(line.endedAt),
      evidenceOf(line),
    ]),
  );
}

function atOf(at: Timestamp | undefined): string {
  return at === undefined ? "" : timestampDate(at).toISOString();
}

/** Which events show it, and what holds the one that proves it. */
function evidenceOf({ eventNumbers, proof }: RecoveryLine): string {
  const events = eventNumbers.length === 0 ? "" : `events ${eventNumbers.join(", ")}`;
  const parts = [events, ...(proof === undefined ? [] : [describeProof(proof)])];
  const text = parts.filter((part) => part !== "").join("; ");
  return text === "" ? "" : `(${text})`;
}

/** Where the log proves a line, in our own words. */
export function describeProof({ sequence, holder }: RecoveryProof): string {
  const hash = Buffer.from(holder.value?.hash ?? [])
    .toString("hex")
    .slice(0, HASH_CHARACTERS);
  switch (holder.case) {
    case "segment":
      return `sequence ${sequence}, in the segment that ends at ${holder.value.lastSequence}, hash ${hash}…`;
    case "chunk":
      return `sequence ${sequence}, in chunk ${holder.value.number}, hash ${hash}…`;
    default:
      return `sequence ${sequence}`;
  }
}
