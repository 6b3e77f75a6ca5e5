import type { RecordStep } from "../command.js";
import type { DecideContext } from "../context.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { fingerprintConflict, invalidField, type Rejection } from "../rejection.js";
import type { Run, Signal } from "../state.js";

/** Why a step may not answer the update that it names: only the task whose wait took it does, once. Undefined when it may, or answers none. */
export function refuseAnswer(
  run: Run,
  task: number,
  { answers, name, key, publishes, value, failure }: RecordStep,
  ctx: DecideContext,
): Rejection | undefined {
  if (answers === undefined) {
    return undefined;
  }
  if (publishes !== undefined) {
    return invalidField("answers", "absent in a step that publishes its value", `${answers}`);
  }
  if (value === undefined && failure === undefined) {
    return invalidField("outcome", "one of value, failure", "absent");
  }
  const update = run.signals[answers];
  if (update === undefined || !isTakenBy(run, task, update)) {
    const actual =
      update?.update === true ? `${answers}, which no wait of the task took` : `${answers}`;
    return invalidField("answers", "an update that a wait of the task took", actual);
  }
  if (update.answer === undefined) {
    return undefined;
  }
  const answering = run.steps.find((step) => step.answers === answers && step.dropped === 0);
  const nameOf = (step: { readonly name: string; readonly key?: string | undefined }): Uint8Array =>
    ctx.sha256(encodeUtf8(JSON.stringify([step.name, step.key ?? null])));
  return fingerprintConflict({
    entity: "update",
    id: update.requestId,
    recorded: answering === undefined ? new Uint8Array(0) : nameOf(answering),
    received: nameOf({ name, key }),
    differs: "answer",
  });
}

function isTakenBy(run: Run, task: number, { update, takenBy }: Signal): boolean {
  return update && typeof takenBy === "number" && run.waits[takenBy]?.task === task;
}
