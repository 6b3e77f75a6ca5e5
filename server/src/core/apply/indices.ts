import { type MutableRun, stepIdentity } from "../state.js";

/**
 * The indices of a run begin as these, shared by all: most runs have neither operations nor steps, and three empty collections each would be a
 * large part of their memory. Whoever adds replaces them first.
 */
const noOperations: Map<string, number> = new Map();
const noSteps: Map<string, number> = new Map();
const noneUnsettled: Set<number> = new Set();

/** The indices of a run without operations and steps. */
export function emptyIndices(): Pick<
  MutableRun,
  "operationsByKey" | "stepsByIdentity" | "unsettled"
> {
  return {
    operationsByKey: noOperations,
    stepsByIdentity: noSteps,
    unsettled: noneUnsettled,
  };
}

/** Finds an operation by its key from now on. */
export function indexOperation(run: MutableRun, key: string, number: number): void {
  if (run.operationsByKey === noOperations) {
    run.operationsByKey = new Map();
  }
  run.operationsByKey.set(key, number);
}

/** Counts an operation among the unsettled. */
export function addUnsettled(run: MutableRun, number: number): void {
  if (run.unsettled === noneUnsettled) {
    run.unsettled = new Set();
  }
  run.unsettled.add(number);
}

/** Finds a step by task, name and key from now on. */
export function indexStep(
  run: MutableRun,
  step: { readonly task: number; readonly name: string; readonly key?: string | undefined },
  number: number,
): void {
  if (run.stepsByIdentity === noSteps) {
    run.stepsByIdentity = new Map();
  }
  run.stepsByIdentity.set(stepIdentity(step.task, step.name, step.key), number);
}
