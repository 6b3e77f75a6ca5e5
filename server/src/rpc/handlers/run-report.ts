import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetRecoveryReportRequest,
  type GetRecoveryReportResponseSchema,
  RecoveryLineSchema,
} from "@pawl/proto/v1/recovery_pb.js";
import { codeVersionOf } from "../../core/view/code-version.js";
import type { RecoveryReportLine } from "../../core/view/recovery-report.js";
import { type RecoveryReport, RecoveryStory } from "../../core/view/recovery-story.js";
import { explainRun } from "../../core/view/why.js";
import type { Target } from "../../kernel/outcome.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { pageBytesMax, rowBytes } from "../page-request.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { badField } from "../refusals.js";
import { readPageSize } from "../validate/fields.js";
import { recoveryLineView } from "../views/recovery-view.js";
import { standpointOf, targetOfRun } from "./requests.js";

type LineView = MessageInitShape<typeof RecoveryLineSchema>;

/** Says what was reused, retried, reconciled, skipped, what waits and what needs a person, a page of it. */
export async function getRecoveryReport(
  edge: Edge,
  request: GetRecoveryReportRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof GetRecoveryReportResponseSchema>> {
  const target = targetOfRun(request);
  const { incarnation } = request;
  const size = request.pageSize === 0 ? Number.POSITIVE_INFINITY : readPageSize(request.pageSize);
  const filter = ["recovery report", request.namespace, request.runId, `${incarnation}`];
  const first = readPageToken(filter, request.pageToken);
  const story = new RecoveryStory({ incarnation });
  let runNumber = 0;
  for await (const page of edge.kernel.history(target, 1)) {
    call.signal.throwIfAborted();
    for (const { event } of page) {
      story.add(event.body, event, event.sequence);
    }
    runNumber = page[0]?.runNumber ?? runNumber;
  }
  const from = { ...standpointOf(edge), runNumber };
  const report = story.finish(from);
  if (report === undefined) {
    const present = story.run?.incarnation ?? 0;
    throw badField("incarnation", `0 to ${present}`, `${incarnation}`);
  }
  const { run } = report;
  const codeVersion = codeVersionOf(run);
  return {
    ...(codeVersion === undefined ? {} : { codeVersion }),
    runId: run.runId,
    status: run.status,
    why: explainRun(run, from),
    totals: [...report.totals],
    otherIncarnations: [...report.others],
    incarnation: report.incarnation,
    presentIncarnation: run.incarnation,
    eventCount: run.eventCount,
    ...(await pageOfReport({ edge, target, report }, filter, { first, size })),
  };
}

/** Lines from one on, as many as asked for and as one message holds, with where the log proves them. */
async function pageOfReport(
  of: { readonly edge: Edge; readonly target: Target; readonly report: RecoveryReport },
  filter: readonly string[],
  { first, size }: { readonly first: number; readonly size: number },
): Promise<{ lines: LineView[]; nextPageToken: string }> {
  const { lines: all } = of.report;
  const lines = await viewLines(of.edge, of.target, all.slice(first, first + size));
  const next = first + lines.length;
  return { lines, nextPageToken: next < all.length ? writePageToken(filter, next) : "" };
}

/** As many of the lines as one message holds, and one at least. */
export async function viewLines(
  edge: Edge,
  target: Target,
  wanted: readonly RecoveryReportLine[],
): Promise<LineView[]> {
  const proofs = await edge.kernel.eventProofs(
    target,
    wanted.map(({ proofEvent }) => proofEvent),
  );
  const lines: LineView[] = [];
  let bytes = 0;
  for (const line of wanted) {
    const row = recoveryLineView(line, proofs.get(line.proofEvent));
    bytes += rowBytes(RecoveryLineSchema, row);
    if (bytes > pageBytesMax && lines.length > 0) {
      break;
    }
    lines.push(row);
  }
  return lines;
}
