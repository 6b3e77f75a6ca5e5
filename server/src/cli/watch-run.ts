import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import type { WatchRunResponse } from "@pawl/proto/v1/run_service_pb.js";
import type { KernelSession } from "./with-kernel.js";

/** Waits between attempts to reach a kernel that went away while it was watched, in ms: about a minute in all. */
const RECONNECT_WAITS_MS: readonly number[] = [
  100, 250, 500, 1_000, 2_000, 3_000, 5_000, 5_000, 5_000, 5_000, 5_000, 10_000, 10_000, 10_000,
];

/** How far a watch has come. */
interface Place {
  position: Uint8Array;
  hasBegun: boolean;
  /** Streams that broke since the last message. */
  failures: number;
}

/** How one stream ended: with its run, or before. */
type StreamEnd = { readonly isOver: true } | { readonly isOver: false; readonly cause: unknown };

/** A message of a watch. */
interface Watched {
  /** Where to go on from. */
  readonly position: Uint8Array;
  /** True in the last one of a watch that ends. */
  readonly closed?: boolean;
}

/** The events of a run from a position to its end; see `watchOn`. */
export function watchRun(
  session: KernelSession,
  runId: string,
  after: Uint8Array,
): AsyncGenerator<WatchRunResponse, void, undefined> {
  const { kernel, namespace } = session;
  return watchOn(
    session,
    (position) => kernel.runs.watchRun({ namespace, runId, position }),
    after,
  );
}

/**
 * A watch from a position to its end. A stream that breaks once it had begun is opened again where it broke: the kernel restarts, drains,
 * or found this reader too slow. A first stream that breaks is an error.
 */
export async function* watchOn<T extends Watched>(
  session: KernelSession,
  open: (position: Uint8Array) => AsyncIterable<T>,
  after: Uint8Array,
): AsyncGenerator<T, void, undefined> {
  const place: Place = { position: after, hasBegun: false, failures: 0 };
  for (;;) {
    const end = yield* watchOnce(open, place);
    if (end.isOver) return;
    const waitMs = RECONNECT_WAITS_MS[place.failures];
    if (waitMs === undefined) throw end.cause;
    if (place.failures === 0) {
      session.out.notice("The stream ended; going on where it was as soon as the kernel answers.");
    }
    place.failures += 1;
    await sleep(waitMs * (0.5 + Math.random() / 2));
  }
}

async function* watchOnce<T extends Watched>(
  open: (position: Uint8Array) => AsyncIterable<T>,
  place: Place,
): AsyncGenerator<T, StreamEnd, undefined> {
  try {
    for await (const answer of open(place.position)) {
      place.hasBegun = true;
      place.failures = 0;
      place.position = answer.position;
      yield answer;
      if (answer.closed === true) return { isOver: true };
    }
  } catch (error) {
    if (!place.hasBegun || !mayGoOn(error)) throw error;
    return { isOver: false, cause: error };
  }
  const cause = new ConnectError("the stream ended before its run", Code.Unavailable);
  return { isOver: false, cause };
}

function mayGoOn(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  const reason = error.findDetails(ErrorInfoSchema)[0]?.reason ?? "";
  // Without a reason no kernel spoke: the connection broke.
  return reason === "" || reason === "PAWL_UNAVAILABLE" || reason === "PAWL_WATCHER_TOO_SLOW";
}
