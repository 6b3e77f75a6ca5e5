import {
  carriesObligation,
  carriesOperation,
  type Dropping,
  dropsProposal,
  dropsStep,
  dropsWait,
} from "../dropped-records.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import type { DroppedRecord, LeftChild, ReturnedMessage, RewindReport } from "../rewind-report.js";
import type { Run } from "../state.js";
import { isRunOpen, operationStatusName } from "../transitions.js";
import type { RewindScope } from "./rewind-scope.js";

/** What becomes of a run that goes on from there; computed before it does. */
export function reportRewind(
  run: Run,
  scope: RewindScope,
  how: Dropping,
  dropsMessages: boolean,
): RewindReport {
  const nameOf = (task: number): string => nameOfTask(run, task);
  return {
    generation: run.generation + 1,
    reopened: [...scope.reopened]
      .sort(([one], [other]) => one - other)
      .map(([task, keepThrough]) => ({ task: nameOf(task), keepThrough })),
    gone: [...scope.gone].sort((one, other) => one - other).map(nameOf),
    dropped: droppedRecords(run, how, nameOf),
    operations: run.operations
      .filter((operation) => carriesOperation(how, operation))
      .map(({ declaration, status }) => ({
        operationKey: declaration.key,
        status: operationStatusName(status),
      })),
    messages: returnedMessages(run, how, dropsMessages),
    children: leftChildren(run, how),
    endedProposals: [...run.openProposals].filter((number) => {
      const proposal = run.proposals[number];
      return proposal !== undefined && dropsProposal(how, proposal, run);
    }),
    toldParent: run.toldParent && !isRunOpen(run.status),
  };
}

function droppedRecords(
  run: Run,
  how: Dropping,
  nameOf: (task: number) => string,
): DroppedRecord[] {
  return [
    ...run.steps
      .filter((step) => dropsStep(how, step))
      .map(({ task, name, key, observedAtMs, publishes }): DroppedRecord => {
        const isRead = observedAtMs > 0 && publishes === undefined;
        return { kind: isRead ? "read" : "step", task: nameOf(task), name, key };
      }),
    ...run.waits
      .filter((wait) => dropsWait(how, wait))
      .map(({ task, declaration: { name, key, subject } }): DroppedRecord => {
        const kind = subject.case === "input" ? "input" : "wait";
        return { kind, task: nameOf(task), name, key };
      }),
    ...run.proposals
      .filter((proposal) => dropsProposal(how, proposal, run))
      .map(({ declaration: { task, name, discriminator: key } }): DroppedRecord => {
        return { kind: "approval", task: nameOf(task), name, key };
      }),
  ];
}

function returnedMessages(run: Run, how: Dropping, dropsMessages: boolean): ReturnedMessage[] {
  return run.signals.flatMap(({ takenBy, update, name, requestId }) => {
    const wait = run.waits[typeof takenBy === "number" ? takenBy : -1];
    if (wait === undefined || !dropsWait(how, wait)) {
      return [];
    }
    const isUnread = update || !dropsMessages;
    return [{ kind: update ? "update" : "signal", name, requestId, isUnread } as const];
  });
}

function leftChildren(run: Run, how: Dropping): LeftChild[] {
  return run.obligations
    .filter((owed) => owed.declaration.order.case === "child" && carriesObligation(how, owed))
    .map(({ declaration, ended }) => ({ runId: declaration.runId, isOpen: ended === undefined }));
}
