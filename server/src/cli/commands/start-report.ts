import {
  type GetStartReportResponse,
  GetStartReportResponseSchema,
  KernelStartSchema,
  type RecoveryTotal,
} from "@pawl/proto/v1/recovery_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS, type Connection } from "../connection.js";
import type { CliContext } from "../context.js";
import { markdownText } from "../format/markdown.js";
import { REPORT_HEADINGS, reportRow } from "../format/report.js";
import { linesMarkdown, totalsMarkdown } from "../format/report-markdown.js";
import { describeRecovery, describeStart } from "../format/start.js";
import { clean, sentence } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

/** `pawl starts`. */
export function addStarts(program: Command, context: CliContext): void {
  const command = program
    .command("starts")
    .description("list the last starts of the kernel, and what each found open");
  addKernelOptions(command).action((options: KernelOptions) =>
    withKernel(context, options, async ({ kernel, out, followUps }) => {
      const { starts } = await kernel.admin.listStarts({}, { timeoutMs: CALL_TIMEOUT_MS });
      if (out.isJson) {
        for (const start of starts) out.message(KernelStartSchema, start);
        return;
      }
      out.table(
        ["START", "AT", "KERNEL", "BEFORE", "OPEN RUNS", "LEASES", "TAIL"],
        starts.map((start) => [
          `${start.number}`,
          formatTime(start.openedAt, out.clock),
          start.kernelVersion,
          start.wasClosed ? "closed" : "cut off",
          `${start.openRuns}`,
          `${start.leases}`,
          `${start.tailEvents} events`,
        ]),
      );
      out.next(starts.length === 0 ? [] : [followUps.command("report", [], ["--start", "last"])]);
    }),
  );
}

/** `pawl report --start N`. */
export async function printStartReport(
  session: KernelSession,
  number: number,
  isMarkdown: boolean,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const report = await readStartReport(kernel, namespace, number);
  const { start, lines, totals } = report;
  if (out.isJson) {
    out.message(GetStartReportResponseSchema, report);
    return;
  }
  const title = start === undefined ? "" : describeStart(start, out.clock);
  const told = lines.flatMap(({ runId, line }) => (line === undefined ? [] : [{ runId, line }]));
  if (isMarkdown) {
    out.lines(
      `# What start ${start?.number ?? 0} of the kernel did`,
      "",
      markdownText(`${sentence(title)} ${describeRecovery(report)}`),
      "",
      ...totalsMarkdown(totals),
      ...linesMarkdown(told),
    );
    return;
  }
  out.lines(clean(sentence(title)), clean(describeRecovery(report)));
  out.table(
    ["RUN", ...REPORT_HEADINGS],
    told.map(({ runId, line }) => [runId, ...reportRow(line)]),
  );
  out.next([followUps.command("starts")]);
}

/** All pages as one. */
async function readStartReport(
  { admin }: Connection,
  namespace: string,
  number: number,
): Promise<GetStartReportResponse> {
  const timeout = { timeoutMs: CALL_TIMEOUT_MS };
  const report = await admin.getStartReport({ namespace, number }, timeout);
  while (report.nextPageToken !== "") {
    const asked = {
      ...{ namespace, number: report.start?.number ?? number },
      pageToken: report.nextPageToken,
    };
    const page = await admin.getStartReport(asked, timeout);
    report.lines.push(...page.lines);
    report.runs += page.runs;
    report.leasesCarriedOn += page.leasesCarriedOn;
    report.leasesEnded += page.leasesEnded;
    addTotals(report.totals, page.totals);
    addTotals(report.openTotals, page.openTotals);
    report.nextPageToken = page.nextPageToken;
  }
  return report;
}

function addTotals(sums: RecoveryTotal[], totals: readonly RecoveryTotal[]): void {
  for (const total of totals) {
    const sum = sums.find((each) => each.class === total.class);
    if (sum === undefined) {
      sums.push(total);
    } else {
      sum.tasks += total.tasks;
      sum.operations += total.operations;
    }
  }
}
