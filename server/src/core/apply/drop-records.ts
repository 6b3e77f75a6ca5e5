import {
  carriesObligation,
  carriesOperation,
  type Dropping,
  dropsProposal,
  dropsStep,
  dropsWait,
} from "../dropped-records.js";
import type { MutableProposal, MutableRun, MutableSignal, MutableWait } from "../state.js";

/**
 * Takes from code what the tasks that are open again, or gone, recorded after the point: steps, waits and proposals are not given to it any more, what it had taken is unread again, and what
 * operations came to it is told only when it asks.
 *
 * @param how which records.
 * @param dropsMessages true: signals that were taken are not given again.
 * @returns the waits that are dropped.
 */
export function dropRecords(
  run: MutableRun,
  generation: number,
  how: Dropping,
  dropsMessages: boolean,
): readonly MutableWait[] {
  const waits = run.waits.filter((wait) => dropsWait(how, wait));
  for (const wait of waits) {
    wait.dropped = generation;
  }
  for (const step of run.steps.filter((made) => dropsStep(how, made))) {
    step.dropped = generation;
    const update = run.signals[step.answers ?? -1];
    if (update !== undefined) {
      update.answer = undefined; // Code answers it anew; who was told the old answer keeps it.
    }
  }
  unreadMessages(run, dropsMessages, waits);
  for (const operation of run.operations.filter((known) => carriesOperation(how, known))) {
    operation.carried = true;
    operation.version++;
  }
  for (const proposal of run.proposals.filter((made) => dropsProposal(how, made, run))) {
    dropProposal(run, proposal, generation);
  }
  for (const obligation of run.obligations.filter((owed) => carriesObligation(how, owed))) {
    obligation.carried = true;
  }
  return waits;
}

function unreadMessages(
  run: MutableRun,
  dropsMessages: boolean,
  waits: readonly MutableWait[],
): void {
  const dropped = new Set(waits.map(({ number }) => number));
  for (const signal of run.signals) {
    if (typeof signal.takenBy === "number" && dropped.has(signal.takenBy)) {
      unread(signal, dropsMessages);
    }
  }
}

/** Whoever sent an update waits for an answer: it is always given again. */
function unread(signal: MutableSignal, dropsMessages: boolean): void {
  if (dropsMessages && !signal.update) {
    signal.takenBy = "earlier";
    signal.payload = undefined;
  } else {
    signal.takenBy = undefined;
  }
}

function dropProposal(run: MutableRun, proposal: MutableProposal, generation: number): void {
  proposal.dropped = generation;
  const revised = run.proposals[proposal.declaration.revises - 1];
  if (revised !== undefined) {
    revised.revisedBy = undefined; // Another one may take its place now.
  }
}
