import { isKernels, type Run } from "../../core/state.js";

/** What a task of a run declared, by number, in order. */
export interface DeclaredByTask {
  readonly operations: readonly number[];
  readonly proposals: readonly number[];
  readonly obligations: readonly number[];
}

/** What the tasks of one incarnation of a run declared, as far as somebody asked. */
class Declared {
  readonly incarnation: number;
  readonly #operations = new Map<number, number[]>();
  readonly #proposals = new Map<number, number[]>();
  readonly #obligations = new Map<number, number[]>();
  #operationsEnd = 0;
  #proposalsEnd: number;
  #obligationsEnd = 0;

  constructor({ incarnation, proposalBase }: Run) {
    this.incarnation = incarnation;
    this.#proposalsEnd = proposalBase;
  }

  /** Takes in what was declared since the last time. */
  catchUp({ operations, proposals, obligations }: Run): void {
    for (; this.#operationsEnd < operations.length; this.#operationsEnd++) {
      add(this.#operations, operations[this.#operationsEnd]?.declaration.task, this.#operationsEnd);
    }
    for (; this.#proposalsEnd < proposals.length; this.#proposalsEnd++) {
      add(this.#proposals, proposals[this.#proposalsEnd]?.declaration.task, this.#proposalsEnd);
    }
    for (; this.#obligationsEnd < obligations.length; this.#obligationsEnd++) {
      const owed = obligations[this.#obligationsEnd];
      const isCodes = owed !== undefined && !owed.earlier && !isKernels(owed.declaration);
      add(this.#obligations, isCodes ? owed.declaration.task : undefined, this.#obligationsEnd);
    }
  }

  of(task: number): DeclaredByTask {
    return {
      operations: this.#operations.get(task) ?? none,
      proposals: this.#proposals.get(task) ?? none,
      obligations: this.#obligations.get(task) ?? none,
    };
  }
}

const none: readonly number[] = [];
const nothing: DeclaredByTask = { operations: none, proposals: none, obligations: none };

/** Of the runs that were asked about, as long as they are in memory. */
const known = new WeakMap<Run, Declared>();

/**
 * The operations, proposals and obligations that the code of a task declared in the present incarnation. The lists of a run hold those of all its tasks and, of some, of all its
 * incarnations; each is looked at once, however many of its tasks are offered again after a crash.
 */
export function declaredBy(run: Run, task: number): DeclaredByTask {
  if (run.operations.length + run.proposals.length + run.obligations.length === 0) {
    return nothing;
  }
  let declared = known.get(run);
  if (declared?.incarnation !== run.incarnation) {
    declared = new Declared(run);
    known.set(run, declared);
  }
  declared.catchUp(run);
  return declared.of(task);
}

function add(byTask: Map<number, number[]>, task: number | undefined, number: number): void {
  if (task === undefined) {
    return;
  }
  const numbers = byTask.get(task);
  if (numbers === undefined) {
    byTask.set(task, [number]);
  } else {
    numbers.push(number);
  }
}
