import type { OutputEntry, OutputPlace } from "@pawl/proto/v1/output_pb.js";
import { watchOn } from "./watch-run.js";
import type { KernelSession } from "./with-kernel.js";

/** What of the live output is read. */
export interface OutputQuery {
  readonly runId: string;
  /** Empty: all tasks. */
  readonly task: string;
  /** Undefined: all channels. */
  readonly channel: string | undefined;
  /** False: only what is there. */
  readonly follow: boolean;
}

/** Most places that a kernel takes in a request. */
const PLACES_MAX = 1_000;

type Place = Omit<OutputPlace, "$typeName">;

/** Live output to its end. A stream that breaks once it had begun is opened again behind what came. */
export async function* readOutput(
  session: KernelSession,
  { runId, task, channel, follow }: OutputQuery,
): AsyncGenerator<OutputEntry, void, undefined> {
  const { kernel, namespace } = session;
  const places = new Map<string, Place>();
  const filter = { namespace, runId, task, ...(channel === undefined ? {} : { channel }) };
  async function* open(): AsyncIterable<Told> {
    const after = [...places.values()].slice(-PLACES_MAX);
    for await (const { entries } of kernel.runs.readOutput({ ...filter, after, once: !follow })) {
      for (const entry of entries) notePlace(places, entry);
      const closed = entries.some(({ entry: e }) => e.case === "end" && e.value.task === task);
      yield { entries, position: nowhere, closed };
    }
    if (!follow) yield { entries: [], position: nowhere, closed: true };
  }
  for await (const { entries } of watchOn(session, open, nowhere)) yield* entries;
}

/** Live output has no position: it goes on by places. */
const nowhere = new Uint8Array();

interface Told {
  readonly entries: readonly OutputEntry[];
  readonly position: Uint8Array;
  readonly closed: boolean;
}

function notePlace(places: Map<string, Place>, { entry }: OutputEntry): void {
  if (entry.case === "chunk") {
    const { task, leaseVersion, channel, number } = entry.value;
    const key = JSON.stringify([task, channel]);
    places.delete(key); // The latest is the last to be left out.
    places.set(key, { task, leaseVersion, channel, number });
  } else if (entry.case === "reset") {
    for (const [key, { task }] of places) {
      if (entry.value.task === "" || entry.value.task === task) places.delete(key);
    }
  }
}
