import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import type {
  GetHistoryRequest,
  GetHistoryResponseSchema,
  ReadBlobRequest,
  ReadBlobResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Run } from "../../core/state.js";
import type { Target } from "../../kernel/outcome.js";
import type { CallContext } from "../call-scope.js";
import { requireOperationKey, targetOfKey } from "../commands/operation.js";
import type { Edge } from "../edge.js";
import { findInline } from "../inline-content.js";
import { readNamespace, requireLength } from "../validate/fields.js";
import { historyView } from "../views/history-view.js";
import { targetOfRun } from "./requests.js";

/** Streams the recorded events of one run in pages. */
export async function* getHistory(
  edge: Edge,
  request: GetHistoryRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof GetHistoryResponseSchema>> {
  const target = targetOfRun(request);
  const from = Math.max(1, request.fromNumber);
  const generations = await edge.kernel.view(target, generationsOf);
  for await (const page of edge.kernel.history(target, from)) {
    call.signal.throwIfAborted();
    const events = page.map((watched) => {
      const { number, body } = watched.event;
      const generation = generationAt(generations, number);
      const stored = request.withStored ? { stored: encodeEvent({ deltaMs: 0, body }) } : {};
      return { ...historyView(watched), generation, ...stored };
    });
    yield { events };
  }
}

/** From which event on which generation of a run, of its present incarnation: latest first. */
function generationsOf(run: Run): { readonly from: number; readonly generation: number }[] {
  const later = run.rewinds.map(({ event, generation }) => ({ from: event, generation }));
  return [{ from: run.begunAtEvent, generation: 1 }, ...later].reverse();
}

function generationAt(generations: ReturnType<typeof generationsOf>, event: number): number {
  return generations.find(({ from }) => from <= event)?.generation ?? 0;
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
