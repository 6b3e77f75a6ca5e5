import { RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import {
  type GetRecoveryReportResponse,
  GetRecoveryReportResponseSchema,
  RecoveryClass,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS, type Connection } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { describeClasses, REPORT_HEADINGS, reportRow } from "../format/report.js";
import { lookOf } from "../format/style.js";
import { clean, sentence } from "../format/text.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { withKernel } from "../with-kernel.js";

/** `pawl report RUN`. */
export function addReport(program: Command, context: CliContext): void {
  const command = program
    .command("report")
    .description(
      "say what recovery did: what was reused, retried, reconciled, skipped, and what waits",
    )
    .argument("<run>", "id of the run");
  addKernelOptions(command).action((runId: string, options: KernelOptions) =>
    withKernel(context, options, async ({ kernel, namespace, out, followUps }) => {
      const report = await readReport(kernel, namespace, runId);
      if (out.isJson) {
        out.message(GetRecoveryReportResponseSchema, report);
        return;
      }
      const status = enumWord(RunStatusSchema, report.status);
      out.lines(
        `Run ${out.style("bold", clean(report.runId))} is ${out.style(lookOf(status), status)}. ${clean(sentence(report.why))}`,
        sentence(describeClasses(report.lines)),
      );
      out.table(REPORT_HEADINGS, report.lines.map(reportRow));
      const needsReview = report.lines.some((line) => line.class === RecoveryClass.NEEDS_REVIEW);
      out.next([
        ...(needsReview ? [followUps.command("reviews list", [], ["--run", runId])] : []),
        followUps.command("run history", [runId]),
      ]);
    }),
  );
}

/** The whole report: one of a huge run comes in pages. */
async function readReport(
  { runs }: Connection,
  namespace: string,
  runId: string,
): Promise<GetRecoveryReportResponse> {
  const timeout = { timeoutMs: CALL_TIMEOUT_MS };
  const report = await runs.getRecoveryReport({ namespace, runId }, timeout);
  while (report.nextPageToken !== "") {
    const asked = { namespace, runId, pageToken: report.nextPageToken };
    const page = await runs.getRecoveryReport(asked, timeout);
    report.lines.push(...page.lines);
    report.nextPageToken = page.nextPageToken;
  }
  return report;
}
