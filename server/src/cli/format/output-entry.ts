import type { OutputEnd, OutputEntry } from "@pawl/proto/v1/output_pb.js";
import { RunStatusSchema, TaskStatusSchema } from "@pawl/proto/v1/run_pb.js";
import { enumWord } from "./enum-word.js";
import { describePayload } from "./payload.js";
import type { Style } from "./style.js";
import { clean, count } from "./text.js";

/** What a reader of live output was told, in lines. */
export function outputLines({ entry }: OutputEntry, style: Style): string[] {
  switch (entry.case) {
    case "chunk": {
      const { task, channel, number, dropped, payload } = entry.value;
      const where = `${clean(task)}${channel === "" ? "" : `/${clean(channel)}`} #${number}`;
      const line = `${style("dim", where)}  ${clean(describePayload(payload))}`;
      return dropped === 0 ? [line] : [droppedLine(dropped, style), line];
    }
    case "reset": {
      const { task, attempt } = entry.value;
      const what =
        task === ""
          ? "The run begins once more"
          : `Task ${clean(task)} begins again, attempt ${attempt}`;
      return [style("bold", `${what}: what came before counts no more.`)];
    }
    case "end": {
      const { dropped } = entry.value;
      return [...(dropped === 0 ? [] : [droppedLine(dropped, style)]), endLine(entry.value)];
    }
    default:
      return []; // A later kernel tells something that this version does not know.
  }
}

function droppedLine(dropped: number, style: Style): string {
  return style("bold", `${count(dropped, "chunk")} dropped.`);
}

function endLine({ task, taskStatus, runStatus, forgotten }: OutputEnd): string {
  if (task === "") return `The run is ${enumWord(RunStatusSchema, runStatus)}.`;
  const nothing = forgotten ? " The kernel has no live output of it, or not any more." : "";
  return `Task ${clean(task)} is ${enumWord(TaskStatusSchema, taskStatus)}.${nothing}`;
}
