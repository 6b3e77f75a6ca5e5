import type { RecordStep } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { equalBytes } from "../identity/content-digest.js";
import { holds, leaseLost } from "../lease-standing.js";
import { limits } from "../limits.js";
import { fingerprintConflict, illegalTransition } from "../rejection.js";
import { type Run, type Step, stepIdentity } from "../state.js";
import { refuseAnswer } from "./answer-update.js";
import { findTask, taskNotFound } from "./find.js";
import { refusePublication } from "./publish.js";

/**
 * Records a step. Refusals, in order: no task, other value than the recorded one, lease lost, too many steps, for one that answers an update: no such update for it to
 * answer, one that was answered otherwise; for one that publishes: more than a run may publish.
 * A recorded step is answered `existing` with the record that counts.
 */
export function decideRecordStep(run: Run, command: RecordStep, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  const recorded =
    run.steps.length === 0
      ? undefined
      : run.stepsByIdentity.get(stepIdentity(task.number, command.name, command.key));
  const step = recorded === undefined ? undefined : run.steps[recorded];
  if (step !== undefined) {
    return answerRecorded(step, command, ctx);
  }
  if (!holds(task, command.leaseVersion)) {
    return reject(leaseLost(task, command.leaseVersion));
  }
  if (run.steps.length >= limits.stepsMax) {
    return reject(
      illegalTransition(
        "PAWL_TOO_LARGE",
        {
          entity: "run",
          status: "RUNNING",
          command: "RecordStep",
          legal: ["report output", "report failure"],
        },
        `Expected at most ${limits.stepsMax} steps in a run, but this would be one more. Next: split the work into several runs.`,
      ),
    );
  }
  const refusal = refuseAnswer(run, task.number, command, ctx) ?? refusePublication(run, command);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const { publishes, answers } = command;
  const isPublished = publishes !== undefined;
  return accept([
    {
      case: "stepRecorded",
      value: {
        task: task.number,
        leaseVersion: command.leaseVersion,
        name: command.name,
        key: command.key,
        value: command.value,
        failure: command.failure,
        seenThrough: command.seenThrough,
        rollback: command.rollback,
        observedAtMs: command.read || isPublished ? ctx.nowMs : 0,
        publishes,
        answers,
        attempt: isPublished ? task.attempt : 0,
        maxAgeMs: command.maxAgeMs ?? 0,
      },
    },
  ]);
}

function answerRecorded(step: Step, command: RecordStep, ctx: DecideContext): Decision {
  const none = new Uint8Array(0);
  const [recorded, received] = [step.value ?? none, command.value ?? none];
  if (
    (step.value === undefined) === (command.value === undefined) &&
    equalBytes(recorded, received)
  ) {
    return acceptExisting({ existing: true, step });
  }
  return reject(
    fingerprintConflict({
      entity: "step",
      id: command.key === undefined ? command.name : `${command.name}/${command.key}`,
      recorded: ctx.sha256(recorded),
      received: ctx.sha256(received),
      differs: "value",
    }),
  );
}
