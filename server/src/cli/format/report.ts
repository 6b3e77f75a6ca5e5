import {
  RecoveryClass,
  RecoveryClassSchema,
  type RecoveryLine,
  type RecoveryTotal,
} from "@pawl/proto/v1/recovery_pb.js";
import { enumCell, enumWord } from "./enum-word.js";
import type { Cell } from "./table.js";

/** Headings of the recovery report. */
export const REPORT_HEADINGS: readonly string[] = ["CLASS", "TASK", "OPERATION", "WHAT HAPPENED"];

/** A line of the report as a row; its evidence is named by event numbers. */
export function reportRow(line: RecoveryLine): Cell[] {
  const evidence =
    line.eventNumbers.length === 0 ? "" : ` [events ${line.eventNumbers.join(", ")}]`;
  return [
    enumCell(RecoveryClassSchema, line.class),
    line.task,
    line.operationKey,
    `${line.sentence}${evidence}`,
  ];
}

/** A class in words: `needs review`. */
export function classWord(kind: RecoveryClass): string {
  return enumWord(RecoveryClassSchema, kind).toLowerCase().replaceAll("_", " ");
}

/** How much is in each class: `2 reused, 1 needs review`. */
export function describeTotals(totals: readonly RecoveryTotal[]): string {
  return totals
    .map(({ class: kind, tasks, operations }) => `${tasks + operations} ${classWord(kind)}`)
    .join(", ");
}

/** True when a person is needed for something. */
export function needsPerson(totals: readonly RecoveryTotal[]): boolean {
  return totals.some(({ class: kind }) => kind === RecoveryClass.NEEDS_REVIEW);
}
