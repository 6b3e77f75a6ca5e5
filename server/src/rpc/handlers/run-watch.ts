import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  WatchRunRequest,
  WatchRunResponseSchema,
  WatchRunsRequest,
  WatchRunsResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Rejection } from "../../core/rejection.js";
import type { WatchedEvent, Watcher, WatchListener } from "../../kernel/kernel-api.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { CallContext } from "../call-scope.js";
import { Channel } from "../channel.js";
import type { Edge } from "../edge.js";
import { unavailable } from "../refusals.js";
import { readNamespace, requireId } from "../validate/fields.js";
import { historyView } from "../views/history-view.js";
import { targetOfRun } from "./requests.js";

/** Why a watch ended. */
export type EndReason = "closed" | "slow" | "draining";

/** What a watcher is told, in order. */
export type Told =
  | { readonly kind: "begin"; readonly position: Uint8Array }
  | {
      readonly kind: "events";
      readonly events: readonly WatchedEvent[];
      readonly position: Uint8Array;
      readonly bytes: number;
    }
  | { readonly kind: "end"; readonly reason: EndReason; readonly position: Uint8Array };

/** Watches one run. */
export async function* watchRun(
  edge: Edge,
  request: WatchRunRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof WatchRunResponseSchema>> {
  const target = targetOfRun(request);
  const { position } = request;
  const told = watch(call, (listener) => edge.kernel.watchRun(target, position, listener));
  for await (const part of told) {
    if (part.kind === "events") {
      yield { events: part.events.map(historyView), position: part.position };
    } else if (part.kind === "end") {
      yield { position: part.position, closed: part.reason === "closed" };
      refuseEnd(part.reason);
    }
  }
}

/** Watches all runs of a namespace. */
export async function* watchRuns(
  edge: Edge,
  request: WatchRunsRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof WatchRunsResponseSchema>> {
  const { workflow, position } = request;
  const filter = { namespace: readNamespace(request.namespace), workflow };
  if (workflow !== "") {
    requireId("workflow", workflow, "workflow");
  }
  const told = watch(call, (listener) => edge.kernel.watchRuns(filter, position, listener));
  for await (const part of told) {
    if (part.kind === "events") {
      const events = part.events.map((watched) => ({
        runId: watched.runId,
        workflow: watched.workflow,
        event: historyView(watched),
      }));
      yield { events, position: part.position };
    } else {
      yield { position: part.position };
      if (part.kind === "end") {
        refuseEnd(part.reason);
      }
    }
  }
}

/**
 * What a watcher is told, until it ends or the caller goes. A batch counts as taken when the next one is asked for: by then the
 * transport has room again, so that what a slow reader leaves is bounded by the kernel.
 */
export async function* watch(
  call: CallContext,
  begin: (listener: WatchListener) => Promise<Watcher>,
): AsyncGenerator<Told, void, undefined> {
  const channel = new Channel<Told>(call.signal);
  const watcher = await begin({
    events: (events, position, bytes) => channel.push({ kind: "events", events, position, bytes }),
    end: (reason, position) => {
      channel.push({ kind: "end", reason, position });
      channel.end();
    },
    fail: (error) => channel.fail(error),
  });
  try {
    // "From now" is a place that a reader must know, or it would miss what comes before its first event when the stream breaks.
    yield { kind: "begin", position: watcher.position };
    for await (const part of channel) {
      yield part;
      if (part.kind === "events") {
        watcher.taken(part.bytes);
      }
    }
  } finally {
    watcher.close();
  }
}

/** Refuses a watch that ended against the will of its reader. */
export function refuseEnd(reason: EndReason): void {
  if (reason === "slow") {
    throw new RejectionError({ ...tooSlow });
  }
  if (reason === "draining") {
    throw new RejectionError(unavailable("it is going away"));
  }
}

const tooSlow: Rejection = {
  reason: "PAWL_WATCHER_TOO_SLOW",
  message:
    "Expected the watcher to read as fast as events come, but too many bytes wait for it. " +
    "Next: watch again from the position of the last message.",
};
