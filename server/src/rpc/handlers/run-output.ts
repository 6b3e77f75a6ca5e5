import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OutputEntrySchema } from "@pawl/proto/v1/output_pb.js";
import type { ReadOutputRequest, ReadOutputResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import { limits } from "../../core/limits.js";
import type { OutputEntry, OutputFilter } from "../../kernel/output/output-entry.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { requireId, requireNumber, requireText } from "../validate/fields.js";
import { payloadOf } from "../views/payload-view.js";
import { targetOfRun } from "./requests.js";

/** Streams live output: what is there, then as it comes. */
export async function* readOutput(
  edge: Edge,
  request: ReadOutputRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof ReadOutputResponseSchema>> {
  const target = targetOfRun(request);
  const reading = await edge.kernel.readOutput(target, filterOf(request));
  try {
    // Whoever starts what it wants to see must know from when on it is seen.
    yield {};
    // The next part is asked for when the transport has room again: until then nothing of it is held here.
    for (
      let entries = await reading.next(call.signal);
      entries !== undefined;
      entries = await reading.next(call.signal)
    ) {
      yield { entries: entries.map(entryView) };
    }
  } finally {
    reading.close();
  }
}

function filterOf({ task, channel, after, once }: ReadOutputRequest): OutputFilter {
  if (task !== "") {
    requireId("task", task, "task");
  }
  if (channel !== undefined) {
    requireText(channel, "channel", { min: 0, max: limits.idBytesMax });
  }
  requireNumber(after.length, "after", { min: 0, max: limits.outputPlacesMax });
  for (const [index, place] of after.entries()) {
    requireId("task", place.task, `after[${index}].task`);
    requireNumber(place.leaseVersion, `after[${index}].lease_version`, atLeastOne);
    requireText(place.channel, `after[${index}].channel`, { min: 0, max: limits.idBytesMax });
    requireNumber(place.number, `after[${index}].number`, atLeastOne);
  }
  return { task: task === "" ? undefined : task, channel, after, once };
}

const atLeastOne = { min: 1, max: 0xffff_ffff };

function entryView(entry: OutputEntry): MessageInitShape<typeof OutputEntrySchema> {
  switch (entry.kind) {
    case "chunk": {
      const { kind: _, payload, ...value } = entry;
      return { entry: { case: "chunk", value: { ...value, payload: payloadOf(payload) } } };
    }
    case "reset": {
      const { kind: _, ...value } = entry;
      return { entry: { case: "reset", value } };
    }
    case "end": {
      const { kind: _, ...value } = entry;
      return { entry: { case: "end", value } };
    }
  }
}
