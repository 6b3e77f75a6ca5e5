import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import type { EventMeta } from "../event.js";
import type { MutableRun, MutableTask } from "../state.js";
import { forgetOpenWait, noWaits } from "./indices.js";
import { endInput } from "./inputs.js";

/** A task ended: nothing that it still waited for is waited for any more. */
export function closeWaits(run: MutableRun, task: MutableTask, meta: EventMeta): void {
  const open = task.openWaits;
  task.openWaits = noWaits;
  for (const number of open) {
    const wait = run.waits[number];
    if (wait !== undefined) {
      wait.closedAtMs = meta.atMs;
      endInput(run, wait, InputStatus.WITHDRAWN, meta);
      forgetOpenWait(run, wait);
    }
  }
}
