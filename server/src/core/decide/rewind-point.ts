import type { RewindRun } from "../command.js";
import { nameOfTask, taskNumber } from "../plan/tasks-of-run.js";
import { invalidField, notFound, type Rejection } from "../rejection.js";
import type { Run } from "../state.js";
import { type RewindScope, scopeAfterEvent, scopeOfTask } from "./rewind-scope.js";

/** Which tasks are concerned by a rewind, and where it goes in words; a refusal when there is no such point. */
export type FoundPoint =
  | { readonly scope: RewindScope; readonly words: string }
  | { readonly refusal: Rejection };

/** Finds the point of a rewind. Refusals: an event that is not of this incarnation, no task, a task that rolls back, no record. */
export function findPoint(run: Run, { to }: Pick<RewindRun, "to">): FoundPoint {
  if (to.case === "event") {
    const { begunAtEvent, eventCount } = run;
    if (to.event < begunAtEvent || to.event > eventCount) {
      const expected = `from ${begunAtEvent} to ${eventCount}, the events of this incarnation`;
      return { refusal: invalidField("to.event", expected, `${to.event}`) };
    }
    return { scope: scopeAfterEvent(run, to.event), words: `event ${to.event}` };
  }
  const number = taskNumber(run, to.task);
  const task = number === undefined ? undefined : run.tasks[number];
  if (task === undefined) {
    return { refusal: notFound("task", to.task) };
  }
  if (task.rollsBack !== undefined) {
    const expected = "a task of the plan, or one that was called";
    return { refusal: invalidField("to.task", expected, `"${to.task}", which rolls back`) };
  }
  if (to.record === undefined) {
    return { scope: scopeOfTask(run, task.number, 0), words: `before task "${to.task}"` };
  }
  const { name, key } = to.record;
  const event = eventOfRecord(run, task.number, to.record);
  const words = `${name}${key === undefined ? "" : `/${key}`}`;
  if (event === undefined) {
    const expected = `something that task "${to.task}" has recorded`;
    return { refusal: invalidField("to.record", expected, `"${words}"`) };
  }
  const scope = scopeOfTask(run, task.number, event - 1);
  return { scope, words: `before "${words}" of task "${to.task}"` };
}

/** Event of the first thing that a task recorded under a name: a step, a wait, an operation, a proposal, an order to another run, or a call. Without a key: under any. */
function eventOfRecord(
  run: Run,
  task: number,
  { name, key }: { readonly name: string; readonly key: string | undefined },
): number | undefined {
  const fits = (recorded: { readonly name: string; readonly key?: string | undefined }): boolean =>
    recorded.name === name && (key === undefined || recorded.key === key);
  const declared = (of: {
    readonly task: number;
    readonly name: string;
    readonly discriminator?: string | undefined;
  }): boolean => of.task === task && fits({ name: of.name, key: of.discriminator });
  const events = [
    ...run.steps
      .filter((step) => step.task === task && step.dropped === 0 && fits(step))
      .map(({ eventNumber }) => eventNumber),
    ...run.waits
      .filter((wait) => wait.task === task && wait.dropped === 0 && fits(wait.declaration))
      .map(({ openedEvent }) => openedEvent),
    ...run.operations
      .filter(({ declaration, carried }) => !carried && declared(declaration))
      .map(({ intendedEvent }) => intendedEvent),
    ...run.proposals
      .slice(run.proposalBase)
      .filter(({ declaration, dropped }) => dropped === 0 && declared(declaration))
      .map(({ madeEvent }) => madeEvent),
    ...run.obligations
      .filter(({ declaration, earlier, carried }) => {
        const isPresent = !earlier && !carried;
        return isPresent && declaration.task === task && fits(declaration);
      })
      .map(({ madeEvent }) => madeEvent),
    ...run.tasks
      .filter(
        ({ number, caller, dropped }) =>
          caller === task && dropped === 0 && fits({ name: nameOfTask(run, number), key }),
      )
      .map(({ calledEvent }) => calledEvent),
  ].filter((event) => event > 0);
  return events.length === 0 ? undefined : Math.min(...events);
}
