import { RecoveryClassSchema } from "@pawl/proto/v1/recovery_pb.js";
import type { RecoveryReportLine } from "@pawl/server/core/view/recovery-report.js";
import { RecoveryStory } from "@pawl/server/core/view/recovery-story.js";
import type { Machine, Recorded } from "./machine.js";
import { START_MS } from "./values.js";

/** The lines of the recovery report of a run: of its present incarnation. Default time: the start of the tests. */
export function reportLines({
  events,
  nowMs = START_MS,
}: {
  readonly events: readonly Recorded[];
  readonly nowMs?: number;
}): readonly RecoveryReportLine[] {
  const story = new RecoveryStory({ incarnation: 0 });
  for (const { body, meta } of events) {
    story.add(body, meta, meta.number);
  }
  return story.finish({ nowMs })?.lines ?? [];
}

/** The same in words: `task RETRIED`, and `task+name RETRIED` of an operation. */
export function reportWords(machine: Machine): string[] {
  return reportLines(machine).map(
    ({ task, operationKey, class: kind }) =>
      `${task}${operationKey === "" ? "" : "+mail"} ${RecoveryClassSchema.value[kind]?.localName}`,
  );
}
