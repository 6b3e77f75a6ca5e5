import type { RecordStep, TaskRef, WaitFor } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import { failure, payload } from "../../core/support/values.js";
import type { Move } from "./moves.js";

/** A wait for an update, now and then. */
export function updateWaitsOf({ pick, which }: Move, key: string | undefined): WaitFor[] {
  if (which % 3 === 1) {
    return [];
  }
  const timeoutMs = pick % 2 === 0 ? undefined : 300 * which;
  return [{ name: "update", key, subject: { case: "update", update: "update", timeoutMs } }];
}

/** What a step is besides a step, now and then: it publishes its value, or it answers an update that its task took, or another one. */
export function messageOf(
  run: Run,
  task: TaskRef,
  { pick, which, content, aims }: Move,
): Partial<Pick<RecordStep, "name" | "key" | "value" | "failure" | "publishes" | "answers">> {
  const taken = run.signals.findLast(
    ({ update, takenBy }) =>
      update && typeof takenBy === "number" && run.waits[takenBy]?.task === task,
  );
  if (pick % 2 === 0 && (taken !== undefined || pick === 4)) {
    const answers = aims ? (taken?.number ?? 0) : pick;
    const refusal = which % 2 === 0 ? { value: undefined, failure: failure() } : {};
    return { name: "answer", key: `${answers}`, answers, ...refusal };
  }
  return pick % 4 === 3
    ? {
        ...{ name: "publish", key: `${run.steps.length - (which % 2)}` },
        ...{ publishes: `name${which % 2}`, value: payload(content), failure: undefined },
      }
    : {};
}
