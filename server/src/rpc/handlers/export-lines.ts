import { create, type DescMessage, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { encodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import { HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import { OperationSchema } from "@pawl/proto/v1/operation_pb.js";
import { ProposalSchema } from "@pawl/proto/v1/proposal_pb.js";
import { RunSchema } from "@pawl/proto/v1/run_pb.js";
import type { ExportJson } from "../../kernel/export/export-chain.js";
import type { Target } from "../../kernel/outcome.js";
import type { EvidencePiece } from "../../kernel/storage/run-evidence.js";
import type { Edge } from "../edge.js";
import { historyView } from "../views/history-view.js";
import { operationView } from "../views/operation-view.js";
import { proposalView } from "../views/proposal-view.js";
import { runView } from "../views/run-view.js";
import { standpointOf } from "./requests.js";

/** The fields of a line, but for its chain. */
export type ExportFields = { readonly [name: string]: ExportJson };

/** How many lines of each kind a run has, for its last one. */
interface Counts {
  chunks: number;
  events: number;
  operations: number;
  proposals: number;
  contents: number;
}

/** All lines of one run. Gives back the run's number as the value of the generator. @throws RejectionError PAWL_RUN_NOT_FOUND */
export async function* linesOfRun(
  edge: Edge,
  target: Target,
): AsyncGenerator<ExportFields, number, undefined> {
  const from = standpointOf(edge);
  const found = await edge.kernel.view(target, (run, number) => ({
    number,
    view: runView(run, { ...from, runNumber: number }),
  }));
  const runNumber = found.number;
  const counts: Counts = { chunks: 0, events: 0, operations: 0, proposals: 0, contents: 0 };
  yield { kind: "run", runNumber: `${runNumber}`, run: jsonOf(RunSchema, found.view) };
  let lastEvent = 0;
  for await (const piece of edge.kernel.evidence({ kind: "number", number: runNumber })) {
    lastEvent = Math.max(lastEvent, lastEventOf(piece));
    counts.chunks += piece.kind === "chunk" ? 1 : 0;
    counts.contents += piece.kind === "blob" && piece.chunkNumber === 0 ? 1 : 0;
    yield lineOfPiece(piece);
  }
  yield* eventLines(edge, runNumber, lastEvent);
  counts.events = lastEvent;
  counts.operations = yield* operationLines(edge, runNumber);
  counts.proposals = yield* proposalLines(edge, runNumber);
  yield { kind: "runEnd", runNumber: `${runNumber}`, ...counts };
  return runNumber;
}

/**
 * A piece of evidence as a line. The one place where stored bytes leave with an export: chunks and slices hold what the log holds, where no
 * credential and no sensitive content may be; content that was moved out of events leaves by `blob` alone.
 */
export function lineOfPiece(piece: EvidencePiece): ExportFields {
  const runNumber = `${piece.runNumber}`;
  switch (piece.kind) {
    case "chunk": {
      const { chunkNumber, value } = piece;
      const hash = toHex(value.subarray(value.byteLength - 32));
      return { kind: "chunk", runNumber, chunkNumber, hash, data: base64(value) };
    }
    case "slice": {
      const { firstSequence, timeBaseMs, firstEventNumber, count, bytes } = piece.slice;
      const numbers = { firstSequence: `${firstSequence}`, timeBaseMs: `${timeBaseMs}` };
      return {
        ...{ kind: "slice", runNumber, ...numbers, firstEventNumber, count },
        data: base64(bytes),
      };
    }
    case "blob": {
      const { sha256, chunkNumber: part, data } = piece;
      return { kind: "content", runNumber, sha256: toHex(sha256), part, data: base64(data) };
    }
  }
}

function lastEventOf(piece: EvidencePiece): number {
  switch (piece.kind) {
    case "chunk": {
      const view = new DataView(piece.value.buffer, piece.value.byteOffset);
      return view.getUint32(20) + view.getUint32(24) - 1;
    }
    case "slice":
      return piece.slice.firstEventNumber + piece.slice.count - 1;
    case "blob":
      return 0;
  }
}

/** The events up to the last one that the evidence holds, as people read them and as a replay does. */
async function* eventLines(
  edge: Edge,
  runNumber: number,
  lastEvent: number,
): AsyncGenerator<ExportFields, void, undefined> {
  for await (const page of edge.kernel.history({ kind: "number", number: runNumber }, 1)) {
    for (const watched of page) {
      if (watched.event.number > lastEvent) {
        return;
      }
      const stored = encodeEvent({ deltaMs: 0, body: watched.event.body });
      const event = jsonOf(HistoryEventSchema, { ...historyView(watched), stored });
      yield { kind: "event", runNumber: `${runNumber}`, event };
    }
  }
}

async function* operationLines(
  edge: Edge,
  runNumber: number,
): AsyncGenerator<ExportFields, number, undefined> {
  for (let number = 0; ; number++) {
    const view = await edge.kernel.view({ kind: "number", number: runNumber }, (run) =>
      operationView(run, number, { runNumber, withPayloads: true }),
    );
    if (view === undefined) {
      return number;
    }
    const operation = jsonOf(OperationSchema, view);
    yield { kind: "operation", runNumber: `${runNumber}`, operation };
  }
}

async function* proposalLines(
  edge: Edge,
  runNumber: number,
): AsyncGenerator<ExportFields, number, undefined> {
  for (let number = 0; ; number++) {
    const { nowMs } = edge.kernel.info();
    const view = await edge.kernel.view({ kind: "number", number: runNumber }, (run) =>
      proposalView(run, number, { runNumber, nowMs, withPayload: true }),
    );
    if (view === undefined) {
      return number;
    }
    yield { kind: "proposal", runNumber: `${runNumber}`, proposal: jsonOf(ProposalSchema, view) };
  }
}

function jsonOf<D extends DescMessage>(schema: D, init: MessageInitShape<D>): ExportJson {
  return toJson(schema, create(schema, init));
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
