import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import {
  type GetHistoryRequest,
  type GetHistoryResponseSchema,
  type GetRecoveryReportRequest,
  type GetRecoveryReportResponseSchema,
  type ReadBlobRequest,
  type ReadBlobResponseSchema,
  RecoveryLineSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { codeVersionOf } from "../../core/view/code-version.js";
import { EventIndex } from "../../core/view/event-index.js";
import { buildRecoveryReport, type RecoveryReportLine } from "../../core/view/recovery-report.js";
import { explainRun } from "../../core/view/why.js";
import type { Target } from "../../kernel/outcome.js";
import type { CallContext } from "../call-scope.js";
import { requireOperationKey, targetOfKey } from "../commands/operation.js";
import type { Edge } from "../edge.js";
import { findInline } from "../inline-content.js";
import { pageBytesMax, rowBytes } from "../page-request.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { readNamespace, readPageSize, requireLength } from "../validate/fields.js";
import { historyView } from "../views/history-view.js";
import { standpointOf, targetOfRun } from "./requests.js";

/** Streams the recorded events of one run in pages. */
export async function* getHistory(
  edge: Edge,
  request: GetHistoryRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof GetHistoryResponseSchema>> {
  const target = targetOfRun(request);
  const from = Math.max(1, request.fromNumber);
  for await (const page of edge.kernel.history(target, from)) {
    call.signal.throwIfAborted();
    const events = page.map(historyView);
    if (request.withStored) {
      for (const [index, watched] of page.entries()) {
        const stored = encodeEvent({ deltaMs: 0, body: watched.event.body });
        events[index] = { ...events[index], stored };
      }
    }
    yield { events };
  }
}

/** Says what was reused, retried, reconciled, skipped, what waits and what needs a person, a page of it. */
export async function getRecoveryReport(
  edge: Edge,
  request: GetRecoveryReportRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof GetRecoveryReportResponseSchema>> {
  const target = targetOfRun(request);
  const size = request.pageSize === 0 ? Number.POSITIVE_INFINITY : readPageSize(request.pageSize);
  const filter = ["recovery report", request.namespace, request.runId];
  const first = readPageToken(filter, request.pageToken);
  const events = new EventIndex();
  for await (const page of edge.kernel.history(target, 1)) {
    call.signal.throwIfAborted();
    for (const { event } of page) {
      events.add(event.body, event.number);
    }
  }
  const now = standpointOf(edge);
  return await edge.kernel.view(target, (run, runNumber) => {
    const from = { ...now, runNumber };
    const codeVersion = codeVersionOf(run);
    return {
      ...(codeVersion === undefined ? {} : { codeVersion }),
      runId: run.runId,
      status: run.status,
      why: explainRun(run, from),
      ...pageOfReport(buildRecoveryReport(run, from, events), filter, { first, size }),
    };
  });
}

/** Lines from one on, as many as asked for and as one message holds. */
function pageOfReport(
  all: readonly RecoveryReportLine[],
  filter: readonly string[],
  { first, size }: { readonly first: number; readonly size: number },
): { lines: MessageInitShape<typeof RecoveryLineSchema>[]; nextPageToken: string } {
  const wanted = all.slice(first, first + size);
  const lines: MessageInitShape<typeof RecoveryLineSchema>[] = [];
  let bytes = 0;
  for (const line of wanted) {
    const row = { ...line, eventNumbers: [...line.eventNumbers] };
    bytes += rowBytes(RecoveryLineSchema, row);
    if (bytes > pageBytesMax && lines.length > 0) {
      break;
    }
    lines.push(row);
  }
  const next = first + lines.length;
  return { lines, nextPageToken: next < all.length ? writePageToken(filter, next) : "" };
}

/** Longest chunk of a blob in one message. */
const chunkBytesMax = 1_048_576;

/** Streams content that a reference of a run names: stored beside the run, or inside its events. */
export async function* readBlob(
  edge: Edge,
  request: ReadBlobRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof ReadBlobResponseSchema>> {
  const target = holderOf(request);
  requireLength(request.sha256, "sha256", 32);
  const inline = await edge.kernel.view(target, (run) => findInline(run, request.sha256));
  if (inline !== undefined) {
    yield { data: inline };
    return;
  }
  for await (const chunk of edge.kernel.readBlob(target, request.sha256)) {
    call.signal.throwIfAborted();
    for (let at = 0; at < chunk.length; at += chunkBytesMax) {
      yield { data: chunk.subarray(at, at + chunkBytesMax) };
    }
  }
}

/** Whose content it is: a run's, or that of an operation that belongs to none. */
function holderOf(request: ReadBlobRequest): Target {
  const { operationKey } = request;
  if (operationKey === "") {
    return targetOfRun(request);
  }
  requireOperationKey(operationKey, "operation_key");
  const namespace = readNamespace(request.namespace);
  return targetOfKey(operationKey, namespace, { kind: "run", namespace, runId: request.runId });
}
