import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ExportRunsRequest, ExportRunsResponseSchema } from "@pawl/proto/v1/export_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { limits } from "../../core/limits.js";
import { EXPORT_FORMAT, ExportChain } from "../../kernel/export/export-chain.js";
import type { Target } from "../../kernel/outcome.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import { readNamespace, requireId, requireKnown } from "../validate/fields.js";
import { type ExportFields, lineOfPiece, linesOfRun } from "./export-lines.js";

/** Characters of lines that are gathered into one message. A longer line stands alone. */
const messageCharacters = 256 * 1024;
/** Runs that are looked up at once. */
const pageRuns = 100;

/** Streams runs as JSON lines. */
export async function* exportRuns(
  edge: Edge,
  request: ExportRunsRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof ExportRunsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  requireRequest(request);
  for (const runId of request.runIds) {
    await edge.kernel.view({ kind: "run", namespace, runId }, () => undefined);
  }
  const chain = new ExportChain();
  let lines: string[] = [];
  let characters = 0;
  // The store's own history tells what was done to other namespaces, by whom and why.
  const seals = edge.gate.readsStoreHistory(call.credential);
  for await (const fields of allLines(edge, { namespace, request, seals })) {
    call.signal.throwIfAborted();
    const line = chain.write(fields);
    if (characters + line.length > messageCharacters && lines.length > 0) {
      yield { lines };
      lines = [];
      characters = 0;
    }
    lines.push(line);
    characters += line.length;
  }
  yield { lines };
}

function requireRequest({ runIds, status, workflow }: ExportRunsRequest): void {
  if (runIds.length > limits.batchItemsMax) {
    throw badField("run_ids", `at most ${limits.batchItemsMax} ids`, `${runIds.length}`);
  }
  for (const runId of runIds) {
    requireId("run_id", runId, "run_ids");
  }
  if (runIds.length > 0 && (status !== RunStatus.UNSPECIFIED || workflow !== "")) {
    throw badField("run_ids", "either ids or a filter", "both");
  }
  requireKnown(status, "status", RunStatus);
  if (workflow !== "") {
    requireId("workflow", workflow, "workflow");
  }
}

interface ExportParts {
  readonly namespace: string;
  readonly request: ExportRunsRequest;
  /** Whether the parts of the store's own history that seal these runs go with them. */
  readonly seals: boolean;
}

async function* allLines(
  edge: Edge,
  { namespace, request, seals }: ExportParts,
): AsyncGenerator<ExportFields, void, undefined> {
  const { storeId, storeEpoch, nowMs, durableSequence } = edge.kernel.info();
  yield {
    ...{ kind: "header", format: EXPORT_FORMAT, version: edge.version, storeId, storeEpoch },
    ...{ namespace, exportedAt: new Date(nowMs).toISOString() },
    headSequence: `${durableSequence}`,
    seals,
  };
  const runNumbers = new Set<number>();
  for await (const target of targetsOf(edge, namespace, request)) {
    runNumbers.add(yield* linesOfRun(edge, target));
  }
  for await (const piece of seals ? edge.kernel.seals(runNumbers) : []) {
    yield { ...lineOfPiece(piece), kind: piece.kind === "chunk" ? "sealChunk" : "sealSlice" };
  }
  yield { kind: "end", runs: runNumbers.size };
}

async function* targetsOf(
  edge: Edge,
  namespace: string,
  { runIds, status, workflow }: ExportRunsRequest,
): AsyncGenerator<Target, void, undefined> {
  for (const runId of new Set(runIds)) {
    yield { kind: "run", namespace, runId };
  }
  let token = "";
  while (runIds.length === 0) {
    const page = await edge.kernel.listRuns(
      { namespace, status, workflow },
      { size: pageRuns, token },
      (_run, number) => number,
    );
    for (const number of page.items) {
      yield { kind: "number", number, namespace };
    }
    token = page.nextPageToken;
    if (token === "") {
      return;
    }
  }
}
