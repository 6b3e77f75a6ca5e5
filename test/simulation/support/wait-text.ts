import type { Run, Wait } from "@pawl/server/core/state.js";
import { textOf } from "./contents.js";

/** How a wait ended, as text: its kind, and what came with it. */
export function waitText(run: Run, { ended, declaration }: Wait): string {
  const outcome = ended?.outcome;
  switch (outcome?.case) {
    case "signalTaken": {
      const { update, number, payload } = run.signals[outcome.value.signal] ?? {};
      return `${update ? `update ${number}` : "signal"} ${textOf(payload)}`;
    }
    case "inputGiven": {
      const { subject } = declaration;
      const input = subject.case === "input" ? run.inputs[subject.value.input] : undefined;
      return input?.declined === undefined
        ? `answer ${textOf(input?.answer)}`
        : `declined ${input.declined}`;
    }
    default:
      return outcome?.case ?? "open";
  }
}

/** The waits of a task that have ended, in the order in which the code is given them. */
export function endedWaits(run: Run, task: number): Wait[] {
  return run.waits
    .filter((wait) => wait.task === task && wait.endedEvent > 0)
    .sort((one, other) => one.endedEvent - other.endedEvent);
}
