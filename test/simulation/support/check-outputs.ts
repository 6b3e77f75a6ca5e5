import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import type { EventValue } from "@pawl/server/core/event.js";
import type { Run } from "@pawl/server/core/state.js";
import { textOf } from "./contents.js";
import { stateOf } from "./incarnations.js";
import type { ShadowLog } from "./shadow-log.js";
import { endedWaits, waitText } from "./wait-text.js";

/**
 * What a task completed with must be what its records say: each step's value is the recorded one, whichever attempt drew it, and each
 * operation's result is the one in the ledger.
 */
export function checkOutputs(shadow: ShadowLog, complain: (text: string) => void): void {
  for (const run of shadow.runs.values()) {
    for (const { body, number } of run.events) {
      if (body.case === "taskCompleted") {
        checkOutput({ number: run.number, state: stateOf(run, number) }, body.value, complain);
      }
    }
  }
}

/** A run in the incarnation that is looked at. */
interface Judged {
  readonly number: number;
  readonly state: Run;
}

function checkOutput(
  run: Judged,
  { task, output }: EventValue<"taskCompleted">,
  complain: (text: string) => void,
): void {
  const told: {
    steps: Record<string, string>;
    results: Record<string, string>;
    waits?: Record<string, string>;
  } = JSON.parse(textOf(output));
  checkWaits(run, task, { told: told.waits ?? {}, complain });
  for (const [name, value] of Object.entries(told.steps)) {
    const step = run.state.steps.find((other) => other.task === task && other.name === name);
    if (textOf(step?.value) !== value) {
      complain(
        `task ${task} of run ${run.number} went on with ${value} as step ${name}, but ${textOf(step?.value)} is recorded`,
      );
    }
  }
  for (const [name, value] of Object.entries(told.results)) {
    const operation = run.state.operations.find(
      ({ declaration }) =>
        declaration.name === name &&
        (declaration.scope === OperationScope.RUN || declaration.task === task),
    );
    const recorded = operation?.result === undefined ? "no" : textOf(operation.result);
    if (recorded !== value) {
      complain(
        `task ${task} of run ${run.number} went on with ${value} of operation ${name}, but ${recorded} is recorded`,
      );
    }
  }
}

/** A race is won by what ended first, with what came with it, however often the code ran. */
function checkWaits(
  run: Judged,
  task: number,
  { told, complain }: { told: Record<string, string>; complain: (text: string) => void },
): void {
  const ended = endedWaits(run.state, task);
  for (const [name, value] of Object.entries(told)) {
    const first = ended.find(({ declaration }) => declaration.name.startsWith(`${name}.`));
    const recorded =
      first === undefined ? "none" : `${first.declaration.name}: ${waitText(run.state, first)}`;
    if (recorded !== value) {
      complain(
        `task ${task} of run ${run.number} went on with ${value} of wait ${name}, but ${recorded} is recorded`,
      );
    }
  }
}
