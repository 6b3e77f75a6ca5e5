import type { OutputEntry } from "@pawl/proto/v1/output_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ReadOutputResponse } from "@pawl/proto/v1/run_service_pb.js";
import { Content } from "../content.js";
import type { OutputEndStatus, OutputEvent, OutputOptions, OutputPlace } from "../output.js";
import type { ClientCore } from "./client-core.js";
import { decodePayload } from "./codec.js";
import { BYTES_TYPE } from "./emitter.js";
import { OutputPlaces } from "./output-places.js";
import { Reopening } from "./reopening.js";

/** Live output of a run to its end, over however many streams. */
export async function* readOutput<T>(
  core: ClientCore,
  runId: string,
  options: OutputOptions,
): AsyncGenerator<OutputEvent<T>> {
  const { api, namespace } = core;
  const { task = "", channel, once = false } = options;
  const { signal } = core.unary(options.signal);
  const reopening = new Reopening(core, signal);
  const places = new OutputPlaces(options.after ?? []);
  const filter = { namespace, runId, task, once, ...(channel === undefined ? {} : { channel }) };
  for (;;) {
    signal.throwIfAborted();
    try {
      const messages = api.runs.readOutput({ ...filter, after: places.list() }, { signal });
      const isOver = yield* readMessages<T>(messages, { task, places, reopening });
      if (isOver || once) return;
    } catch (cause) {
      reopening.failed(cause);
    }
    await reopening.next();
  }
}

/** What one stream tells. True when that was the last of it. */
async function* readMessages<T>(
  messages: AsyncIterable<ReadOutputResponse>,
  parts: { readonly task: string; readonly places: OutputPlaces; readonly reopening: Reopening },
): AsyncGenerator<OutputEvent<T>, boolean> {
  for await (const { entries } of messages) {
    parts.reopening.answered();
    for (const entry of entries) {
      yield* readEntry<T>(entry, parts.places);
      if (isLast(entry, parts.task)) return true;
    }
  }
  return false;
}

function isLast({ entry }: OutputEntry, task: string): boolean {
  return entry.case === "end" && entry.value.task === task;
}

function* readEntry<T>({ entry }: OutputEntry, places: OutputPlaces): Generator<OutputEvent<T>> {
  switch (entry.case) {
    case "chunk": {
      const { task, attempt, leaseVersion, channel, number, payload } = entry.value;
      const place: OutputPlace = { task, leaseVersion, channel, number };
      const before = places.reach(place);
      if (before === undefined) return;
      const count = number - before - 1;
      if (count > 0) yield { kind: "dropped", task, channel, count };
      const decoded = decodePayload(payload, `a chunk of task "${task}"`);
      const value = isBytes(decoded) ? decoded.data : decoded;
      // What was emitted, only its emitter knows: the caller says what it expects.
      yield { kind: "chunk", ...place, attempt, value: value as T };
      return;
    }
    case "reset": {
      const { task, attempt, leaseVersion } = entry.value;
      places.forget(task);
      yield { kind: "reset", task, attempt, leaseVersion };
      return;
    }
    case "end": {
      const { task, taskStatus, runStatus, dropped, forgotten } = entry.value;
      if (!places.end(task)) return;
      if (dropped > 0) yield { kind: "dropped", task, channel: undefined, count: dropped };
      const status = task === "" ? runEnds[runStatus] : taskEnds[taskStatus];
      yield { kind: "end", task, status: status ?? "failed", forgotten };
      return;
    }
    default:
      return; // A later kernel tells something that this SDK does not know.
  }
}

function isBytes(value: unknown): value is Content {
  return value instanceof Content && value.contentType === BYTES_TYPE;
}

const taskEnds: Readonly<Partial<Record<TaskStatus, OutputEndStatus>>> = {
  [TaskStatus.COMPLETED]: "completed",
  [TaskStatus.FAILED]: "failed",
  [TaskStatus.SKIPPED]: "skipped",
  [TaskStatus.CANCELLED]: "cancelled",
};

const runEnds: Readonly<Partial<Record<RunStatus, OutputEndStatus>>> = {
  [RunStatus.COMPLETED]: "completed",
  [RunStatus.FAILED]: "failed",
  [RunStatus.CANCELLED]: "cancelled",
  [RunStatus.TERMINATED]: "terminated",
};
