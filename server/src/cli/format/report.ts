import { RecoveryClassSchema, type RecoveryLine } from "@pawl/proto/v1/run_service_pb.js";
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

/** How many lines are of each class, the order of the classes: `2 reused, 1 needs review`. */
export function describeClasses(lines: readonly RecoveryLine[]): string {
  return RecoveryClassSchema.values
    .map(({ number }) => {
      const amount = lines.filter((line) => line.class === number).length;
      const word = enumWord(RecoveryClassSchema, number).toLowerCase().replaceAll("_", " ");
      return amount === 0 ? "" : `${amount} ${word}`;
    })
    .filter((part) => part !== "")
    .join(", ");
}
