import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { addRunDelete } from "./run-delete.js";
import { addRunCancel, addRunTerminate } from "./run-end.js";
import { addRunExport } from "./run-export.js";
import { addRunHistory } from "./run-history.js";
import { addRunList } from "./run-list.js";
import { addRunOutput } from "./run-output.js";
import { addRunPause, addRunResume } from "./run-pause.js";
import { addRunQuery } from "./run-query.js";
import { addRunShow } from "./run-show.js";
import { addRunStart } from "./run-start.js";
import { addRunUpdate } from "./run-update.js";
import { addRunWatch } from "./run-watch.js";

/** `pawl run …`. */
export function addRunCommands(
  program: Command,
  context: CliContext,
  setExitCode: (code: number) => void,
): void {
  const group = program
    .command("run")
    .description("start, read, watch, pause, end and delete runs");
  addRunStart(group, context);
  addRunShow(group, context);
  addRunList(group, context);
  addRunWatch(group, context);
  addRunHistory(group, context);
  addRunExport(group, context);
  addRunOutput(group, context);
  addRunQuery(group, context);
  addRunUpdate(group, context, setExitCode);
  addRunPause(group, context);
  addRunResume(group, context);
  addRunCancel(group, context);
  addRunTerminate(group, context);
  addRunDelete(group, context);
}
