import type { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { specOf } from "../plan/change-spec.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import type { Operation, Proposal, Run, Task } from "../state.js";
import type { EventIndex } from "./event-index.js";
import { judgeOperation, judgeProposal } from "./judge-operation.js";
import { judgeTask } from "./judge-task.js";
import type { OperationFacts, RecoveryFacts, TaskFacts } from "./recovery-facts.js";
import type { Standpoint } from "./why.js";

/** One line of the report: what recovery did about a task, or about an operation of it. */
export interface RecoveryReportLine {
  readonly class: RecoveryClass;
  readonly task: string;
  /** Empty for a line about the task itself. */
  readonly operationKey: string;
  readonly sentence: string;
  readonly eventNumbers: readonly number[];
  readonly attemptsUsed: number;
  /** 0 for an operation. */
  readonly attemptsMax: number;
  /** Times in ms since the Unix epoch; 0: it has not come to that. */
  readonly firstReadyAtMs: number;
  readonly lastLeasedAtMs: number;
  readonly endedAtMs: number;
  readonly observedAtMs: number;
  /** Number of the event that put it into its present state; 0: none is known. */
  readonly proofEvent: number;
  /** True when it had not ended at the event from which on the report counts. */
  readonly wasOpen: boolean;
}

/** What a line says. */
export type Verdict = readonly [RecoveryClass, string];

/** What a report is computed from besides the state. */
export interface RecoveryView {
  readonly facts: RecoveryFacts;
  readonly events: EventIndex;
  /** Only what joined with this event or before is told, and what became of it later. 0: all, from the beginning. */
  readonly sinceEvent: number;
}

/**
 * The lines of one incarnation: tasks in plan order, each followed by its operations, so that each is on exactly one line. docs/concepts/recovery.md
 * defines the classes.
 */
export function buildRecoveryLines(
  run: Run,
  from: Standpoint,
  view: RecoveryView,
): RecoveryReportLine[] {
  const { facts, sinceEvent } = view;
  const wasThere = (joined: number | undefined): boolean =>
    sinceEvent === 0 || (joined !== undefined && joined <= sinceEvent);
  const operations = groupByTask(
    run.operations.filter(({ number }) => wasThere(facts.operations[number]?.joinedEvent)),
    ({ declaration }) => declaration.task,
  );
  const proposals = groupByTask(
    unperformed(run).filter(({ number }) => wasThere(view.events.ofProposal(number)[0])),
    ({ declaration }) => declaration.task,
  );
  if (run.kind === "ledger") {
    return linesOfParts(run, 0, from, { view, operations, proposals });
  }
  return run.tasks
    .filter(({ number }) => wasThere(facts.tasks[number]?.joinedEvent))
    .flatMap((task) => [
      lineOfTask(run, task, from, view),
      ...linesOfParts(run, task.number, from, { view, operations, proposals }),
    ]);
}

/** What was proposed and not performed: the newest proposal of each operation's key. */
function unperformed(run: Run): Proposal[] {
  return run.proposals.filter(
    ({ number, declaration, revisedBy, operation }) =>
      number >= run.proposalBase &&
      revisedBy === undefined &&
      operation === undefined &&
      !run.operationsByKey.has(declaration.key) &&
      run.proposalsByKey.get(declaration.key) === number,
  );
}

function groupByTask<T>(items: readonly T[], taskOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const task = taskOf(item);
    const group = groups.get(task);
    if (group === undefined) {
      groups.set(task, [item]);
    } else {
      group.push(item);
    }
  }
  return groups;
}

interface Parts {
  readonly view: RecoveryView;
  readonly operations: ReadonlyMap<number, readonly Operation[]>;
  readonly proposals: ReadonlyMap<number, readonly Proposal[]>;
}

function linesOfParts(
  run: Run,
  task: number,
  from: Standpoint,
  { view, operations, proposals }: Parts,
): RecoveryReportLine[] {
  return [
    ...(proposals.get(task) ?? []).map((proposal) => lineOfProposal(run, proposal, from, view)),
    ...(operations.get(task) ?? []).map((operation) => lineOfOperation(run, operation, from, view)),
  ];
}

function lineOfTask(
  run: Run,
  task: Task,
  from: Standpoint,
  view: RecoveryView,
): RecoveryReportLine {
  const facts = view.facts.tasks[task.number] ?? unknownTask;
  const [kind, sentence] = judgeTask(run, task, from, view);
  const policy = specOf(run, task.number)?.retry.attemptsMax ?? 0;
  const numbers = view.events.ofTask(task.number);
  const { closedEvent } = facts;
  return {
    class: kind,
    task: nameOfTask(run, task.number),
    operationKey: "",
    sentence,
    eventNumbers:
      closedEvent === 0 || numbers.includes(closedEvent) ? numbers : [...numbers, closedEvent],
    attemptsUsed: task.usedAttempts,
    attemptsMax: policy + (task.trouble?.forgivenAttempts ?? 0),
    firstReadyAtMs: task.firstReadyAtMs,
    lastLeasedAtMs: task.leasedAtMs,
    endedAtMs: task.closedAtMs,
    observedAtMs: facts.leasedEvent === 0 ? 0 : task.closedAtMs,
    proofEvent: run.fault !== "" && closedEvent === 0 ? view.facts.faultEvent : facts.lastEvent,
    wasOpen: closedEvent === 0 || closedEvent > view.sinceEvent,
  };
}

function lineOfOperation(
  run: Run,
  operation: Operation,
  from: Standpoint,
  view: RecoveryView,
): RecoveryReportLine {
  const facts = view.facts.operations[operation.number] ?? unknownOperation;
  const [kind, sentence] = judgeOperation(run, operation, from, view);
  return {
    class: kind,
    task: nameOfTask(run, operation.declaration.task),
    operationKey: operation.declaration.key,
    sentence,
    eventNumbers: view.events.ofOperation(operation.number),
    attemptsUsed: operation.calls,
    attemptsMax: 0,
    firstReadyAtMs: operation.firstIntendedAtMs,
    lastLeasedAtMs: operation.intendedAtMs,
    endedAtMs: operation.settledAtMs,
    observedAtMs: operation.settledAtMs,
    proofEvent: facts.settledEvent > 0 ? facts.settledEvent : facts.lastEvent,
    wasOpen: facts.settledEvent === 0 || facts.settledEvent > view.sinceEvent,
  };
}

function lineOfProposal(
  run: Run,
  proposal: Proposal,
  { nowMs }: Standpoint,
  { events }: RecoveryView,
): RecoveryReportLine {
  const [kind, sentence] = judgeProposal(proposal, nowMs);
  const numbers = events.ofProposal(proposal.number);
  return {
    class: kind,
    task: nameOfTask(run, proposal.declaration.task),
    operationKey: proposal.declaration.key,
    sentence,
    eventNumbers: numbers,
    attemptsUsed: 0,
    attemptsMax: 0,
    firstReadyAtMs: proposal.proposedAtMs,
    lastLeasedAtMs: 0,
    endedAtMs: proposal.endedAtMs,
    observedAtMs: 0,
    proofEvent: numbers.at(-1) ?? 0,
    wasOpen: false,
  };
}

/** A thing of which the events said nothing. */
const unknownTask: TaskFacts = {
  ...{ joinedEvent: 0, again: 0, againEvent: 0, leasedEvent: 0, lastEvent: 0, closedEvent: 0 },
  hasSuspended: false,
};
const unknownOperation: OperationFacts = {
  ...{ joinedEvent: 0, lastEvent: 0, callsSince: 0, settledEvent: 0 },
};
