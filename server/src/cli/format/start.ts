import {
  type GetStartReportResponse,
  type KernelStart,
  RecoveryClass,
  type RecoveryTotal,
} from "@pawl/proto/v1/recovery_pb.js";
import { needsPerson } from "./report.js";
import { count } from "./text.js";
import { type Clock, formatTime } from "./time.js";

/** A start in one sentence, without a full stop: when, and how the kernel before it ended. */
export function describeStart(start: KernelStart, clock: Clock): string {
  const before = start.wasClosed ? "had closed the store" : "was killed, failed, or lost power";
  return `Start ${start.number} at ${formatTime(start.openedAt, clock)}, kernel ${start.kernelVersion}; the kernel before ${before}`;
}

/** What a start did, in sentences: first how much was open, then what became of it, last whether a person is needed. */
export function describeRecovery(report: GetStartReportResponse): string {
  const { runs, leasesCarriedOn, leasesEnded, openTotals, unlistedRuns } = report;
  const leases =
    leasesCarriedOn + leasesEnded === 0
      ? "no lease was held"
      : `${count(leasesCarriedOn, "lease")} ${leasesCarriedOn === 1 ? "was" : "were"} carried on, ${leasesEnded} ended without a report`;
  const retried = countOf(openTotals, RecoveryClass.RETRIED, "tasks");
  const again =
    retried === 0
      ? "no task was run again"
      : `${count(retried, "task")} ${retried === 1 ? "was" : "were"} run again`;
  const person = needsPerson(openTotals) ? "A person is needed." : "Nothing needs a person.";
  const unlisted =
    unlistedRuns === 0n
      ? ""
      : ` ${count(unlistedRuns, "more run")} of all namespaces were open and are not listed.`;
  return `${count(runs, "run")} ${runs === 1 ? "was" : "were"} open; ${leases}; ${again}; ${describeOperations(openTotals)}. ${person}${unlisted}`;
}

function describeOperations(totals: readonly RecoveryTotal[]): string {
  const open = totals.reduce((sum, { operations }) => sum + operations, 0);
  if (open === 0) return "no operation was under way";
  const parts = [
    [RecoveryClass.RECONCILED, "looked up or told late"],
    [RecoveryClass.RETRIED, "called again"],
    [RecoveryClass.UNTOUCHED, "answered by their own calls"],
    [RecoveryClass.WAITING, "still open"],
    [RecoveryClass.NEEDS_REVIEW, "in review"],
  ] as const;
  const told = parts.flatMap(([kind, words]) => {
    const operations = countOf(totals, kind, "operations");
    return operations === 0 ? [] : [`${operations} ${words}`];
  });
  return `${count(open, "operation")} ${open === 1 ? "was" : "were"} under way: ${told.join(", ")}`;
}

function countOf(
  totals: readonly RecoveryTotal[],
  kind: RecoveryClass,
  what: "tasks" | "operations",
): number {
  return totals.find((total) => total.class === kind)?.[what] ?? 0;
}
