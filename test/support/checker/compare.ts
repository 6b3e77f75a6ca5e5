import { type CheckedLine, classify } from "./classify.js";
import { type ExportedEvent, readLog } from "./read-log.js";

/** What is compared of a line of a report. */
export interface ReportedLine {
  /** The name of its class. */
  readonly class: string;
  readonly task: string;
  readonly operationKey: string;
  readonly proofEvent: number;
}

/** What is compared of a report. */
export interface ReportedReport {
  readonly lines: readonly ReportedLine[];
  readonly totals: readonly {
    readonly class: string;
    readonly tasks: number;
    readonly operations: number;
  }[];
}

/** Which report it is. */
export interface CheckedReport {
  /** From 1; 0: the last one. */
  readonly incarnation: number;
  /** Only what was there at this event. 0: from the beginning. */
  readonly since: number;
}

/** Compares a report with what the log says, computed anew. Gives back every difference as a sentence; none: they are equal. */
export function findDifferences(
  events: readonly ExportedEvent[],
  { incarnation, since }: CheckedReport,
  reported: ReportedReport,
): string[] {
  const all = readLog(events);
  const of = all[incarnation === 0 ? all.length - 1 : incarnation - 1];
  const expected = of === undefined ? [] : classify(of, since);
  return [...compareLines(expected, reported.lines), ...compareTotals(expected, reported.totals)];
}

function compareLines(
  expected: readonly CheckedLine[],
  reported: readonly ReportedLine[],
): string[] {
  const differences: string[] = [];
  const left = new Map<string, ReportedLine>();
  for (const line of reported) {
    if (left.has(nameOf(line))) differences.push(`${nameOf(line)} is reported twice`);
    left.set(nameOf(line), line);
  }
  for (const line of expected) {
    const name = nameOf(line);
    const found = left.get(name);
    left.delete(name);
    if (found === undefined) {
      differences.push(`${name} is not reported`);
    } else if (found.class !== line.class) {
      differences.push(`${name} is ${line.class}, and reported as ${found.class}`);
    } else if (line.endedEvent !== undefined && found.proofEvent !== line.endedEvent) {
      differences.push(`${name} ended with event ${line.endedEvent}, not ${found.proofEvent}`);
    }
  }
  return [
    ...differences,
    ...[...left.keys()].map((name) => `${name} is reported, and is not there`),
  ];
}

function compareTotals(
  expected: readonly CheckedLine[],
  totals: ReportedReport["totals"],
): string[] {
  const counts = new Map<string, number>();
  for (const { class: kind, operationKey } of expected) {
    const name = `${kind} ${operationKey === "" ? "tasks" : "operations"}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const { class: kind, tasks, operations } of totals) {
    counts.set(`${kind} tasks`, (counts.get(`${kind} tasks`) ?? 0) - tasks);
    counts.set(`${kind} operations`, (counts.get(`${kind} operations`) ?? 0) - operations);
  }
  return [...counts].flatMap(([name, count]) =>
    count === 0 ? [] : [`the total of ${name} is ${count > 0 ? "too low" : "too high"}`],
  );
}

function nameOf({ task, operationKey }: Pick<CheckedLine, "task" | "operationKey">): string {
  return operationKey === "" ? `task ${task}` : `operation ${operationKey}`;
}
