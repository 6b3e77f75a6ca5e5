import {
  type GetRecoveryReportResponse,
  GetRecoveryReportResponseSchema,
} from "@pawl/proto/v1/recovery_pb.js";
import { RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS, type Connection } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { describeTotals, needsPerson, REPORT_HEADINGS, reportRow } from "../format/report.js";
import { reportMarkdown } from "../format/report-markdown.js";
import { lookOf } from "../format/style.js";
import { clean, sentence } from "../format/text.js";
import { addKernelOptions, type KernelOptions, wholeNumber } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { printStartReport } from "./start-report.js";

interface ReportOptions extends KernelOptions {
  readonly markdown?: boolean;
  readonly incarnation?: number;
  readonly start?: number;
}

/** A number from 1; 0 for `last`. */
function startNumber(text: string): number {
  return text === "last" ? 0 : wholeNumber(1, 4_294_967_295)(text);
}

/** `pawl report RUN`. */
export function addReport(program: Command, context: CliContext): void {
  const command = program
    .command("report")
    .description(
      "say what recovery did: what was reused, retried, reconciled, skipped, and what waits",
    )
    .argument("[run]", "id of the run; none with --start")
    .option(
      "--start <n>",
      "what became of what was open when the kernel started: a number, or last",
      startNumber,
    )
    .option("--markdown", "print a ticket in GitHub-flavoured Markdown")
    .option(
      "--incarnation <n>",
      "an earlier incarnation of the run (default: the present one)",
      wholeNumber(1, 4_294_967_295),
    );
  addKernelOptions(command).action((runId: string | undefined, options: ReportOptions) => {
    requireOneSubject(runId, options);
    return withKernel(context, options, async (session) => {
      const { start } = options;
      if (runId === undefined) {
        await printStartReport(session, start ?? 0, options.markdown === true);
        return;
      }
      const { kernel, namespace, out } = session;
      const { incarnation = 0 } = options;
      const report = await readReport(kernel, { namespace, runId, incarnation });
      if (out.isJson) {
        out.message(GetRecoveryReportResponseSchema, report);
      } else if (options.markdown === true) {
        out.lines(...reportMarkdown(report));
      } else {
        printReport(session, report);
      }
    });
  });
}

/** @throws CliError of usage for no subject, two of them, or what does not go with the one. */
function requireOneSubject(runId: string | undefined, { start, incarnation }: ReportOptions): void {
  if ((runId === undefined) === (start === undefined)) {
    const given = runId === undefined ? "neither was given" : "both were given";
    throw usageError(`Expected the id of a run, or --start, but ${given}.`);
  }
  if (start !== undefined && incarnation !== undefined) {
    throw usageError(
      "Expected --incarnation beside the id of a run, but it was given beside --start.",
    );
  }
}

function printReport({ out, followUps }: KernelSession, report: GetRecoveryReportResponse): void {
  const { runId, incarnation, presentIncarnation, totals, otherIncarnations } = report;
  const status = enumWord(RunStatusSchema, report.status);
  const isEarlier = incarnation < presentIncarnation;
  out.lines(
    `Run ${out.style("bold", clean(runId))} is ${out.style(lookOf(status), status)}. ${clean(sentence(report.why))}`,
    `${isEarlier ? `Of its incarnation ${incarnation}: ` : ""}${sentence(describeTotals(totals))}`,
    ...(otherIncarnations.length === 0
      ? []
      : [
          `${isEarlier ? "Of the other incarnations that have ended" : "Of its earlier incarnations"}: ${sentence(describeTotals(otherIncarnations))}`,
        ]),
  );
  out.table(REPORT_HEADINGS, report.lines.map(reportRow));
  out.next([
    ...(needsPerson(totals) ? [followUps.command("reviews list", [], ["--run", runId])] : []),
    ...(!isEarlier && presentIncarnation > 1
      ? [followUps.command("report", [runId], ["--incarnation", `${presentIncarnation - 1}`])]
      : []),
    followUps.command("run history", [runId]),
  ]);
}

/** The whole report: one of a huge run comes in pages. */
async function readReport(
  { runs }: Connection,
  of: { readonly namespace: string; readonly runId: string; readonly incarnation: number },
): Promise<GetRecoveryReportResponse> {
  const timeout = { timeoutMs: CALL_TIMEOUT_MS };
  const report = await runs.getRecoveryReport(of, timeout);
  while (report.nextPageToken !== "") {
    const asked = { ...of, pageToken: report.nextPageToken };
    const page = await runs.getRecoveryReport(asked, timeout);
    report.lines.push(...page.lines);
    report.nextPageToken = page.nextPageToken;
  }
  return report;
}
