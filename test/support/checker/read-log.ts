import type { Event, OperationIntended } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { OnNeedFailure, type PlanTask } from "@pawl/proto/v1/plan_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { type CheckedReview, Incarnation } from "./model.js";

/** An event of an exported history: `GetHistory` with the stored form. */
export interface ExportedEvent {
  readonly number: number;
  readonly sequence: number;
  readonly event: Event;
}

/** Reads a history: its incarnations, in order. */
export function readLog(events: readonly ExportedEvent[]): Incarnation[] {
  const all: Incarnation[] = [];
  // An incarnation that is begun without one has the plan of the one before.
  let plan: readonly PlanTask[] = [];
  for (const { event, number } of events) {
    const last = all.at(-1);
    const { body } = event;
    if (body.case === "runStarted" || body.case === "runRestarted") {
      plan = body.value.plan?.tasks ?? plan;
      all.push(begin(plan, number));
    } else if (body.case === "runContinued" && last !== undefined) {
      last.end(body.value.task, "itself", number, "completed");
      all.push(begin(plan, number));
    } else {
      if (last === undefined) all.push(new Incarnation());
      take(all.at(-1) ?? new Incarnation(), body, number);
    }
  }
  return all;
}

function begin(tasks: readonly PlanTask[], joined: number): Incarnation {
  const begun = new Incarnation();
  const places = new Map(tasks.map(({ name }, place) => [name, place]));
  for (const { name, needs, join } of tasks) {
    const rules = new Map((join?.rules ?? []).map(({ task, onFailure }) => [task, onFailure]));
    begun.addTask({
      ...{ name, joined, atLeast: join?.atLeast || needs.length },
      needs: needs.map((need) => ({
        task: places.get(need) ?? -1,
        countsAnyway: rules.get(need) === OnNeedFailure.CONTINUE,
      })),
    });
  }
  return begun;
}

function take(of: Incarnation, body: Event["body"], number: number): void {
  if (takeTask(of, body, number) || takeOperation(of, body, number)) {
    return;
  }
  switch (body.case) {
    case "runFaulted":
      of.isFaulted = true;
      break;
    case "cancelRequested":
    case "runTimedOut":
      for (const [task, { state, rollsBack }] of of.tasks.entries()) {
        if (state !== "leased" && !rollsBack) of.end(task, "itself", number, "cancelled");
      }
      break;
    case "runClosed":
      of.isRunOpen = false;
      for (const task of of.tasks.keys()) of.end(task, "itself", number, "cancelled");
      break;
    default:
      takeProposal(of, body, number);
  }
}

/** True when the event is about tasks. */
function takeTask(of: Incarnation, body: Event["body"], number: number): boolean {
  switch (body.case) {
    case "taskLeased":
      lease(of, body.value.task, number);
      return true;
    case "leaseEnded":
      // Who waits for a person about an operation is told by the reason, as is one whose attempts are used up.
      moveTo(of, body.value.task, body.value, number);
      return true;
    case "attemptFailed":
      moveTo(of, body.value.task, body.value, number);
      return true;
    case "taskCompleted":
      of.end(body.value.task, "itself", number, "completed");
      return true;
    case "taskCancelled":
      of.end(body.value.task, "itself", number, "cancelled");
      return true;
    case "taskTimedOut":
      of.end(body.value.task, "itself", number, "lost");
      return true;
    case "taskChanged":
      if (body.value.change.case === "completed" || body.value.change.case === "failed") {
        of.end(
          ...([body.value.task, "person", number] as const),
          body.value.change.case === "failed" ? "lost" : "completed",
        );
      }
      return true;
    default:
      return takeWaits(of, body, number) || takeCalls(of, body, number);
  }
}

function lease(of: Incarnation, number: number, event: number): void {
  const task = of.tasks[number];
  if (task !== undefined) {
    if (task.leases.length > 0 && !task.hasWaited) task.again.push(event);
    task.leases.push(event);
    task.hasWaited = false;
    task.state = "leased";
  }
}

function suspend(of: Incarnation, number: number): void {
  const task = of.tasks[number];
  if (task !== undefined) {
    task.hasWaited = true;
    task.state = "idle";
  }
}

function moveTo(
  of: Incarnation,
  number: number,
  { next, review }: { readonly next: TaskStatus; readonly review: number },
  event: number,
): void {
  const task = of.tasks[number];
  if (task === undefined) return;
  switch (next) {
    case TaskStatus.FAILED:
      of.end(number, "itself", event, "lost");
      break;
    case TaskStatus.COMPLETED:
      of.end(number, "itself", event, "completed");
      break;
    case TaskStatus.CANCELLED:
      of.end(number, "itself", event, "cancelled");
      break;
    case TaskStatus.NEEDS_REVIEW:
      task.state = "review";
      of.reviews[review]?.waiting.add(number);
      break;
    default:
      task.state = "idle";
  }
}

function takeWaits(of: Incarnation, body: Event["body"], number: number): boolean {
  switch (body.case) {
    case "taskSuspended":
    case "waitsOpened":
      for (const { subject } of body.value.opened) {
        const review = subject.case === "review" ? subject.value.review : undefined;
        of.waits.push({ task: body.value.task, review, isOpen: true });
      }
      if (body.case === "taskSuspended") {
        suspend(of, body.value.task);
        moveTo(of, body.value.task, { next: body.value.next, review: -1 }, number);
      }
      return true;
    case "waitEnded": {
      const wait = of.waits[body.value.wait];
      if (wait !== undefined) wait.isOpen = false;
      return true;
    }
    default:
      return false;
  }
}

function takeCalls(of: Incarnation, body: Event["body"], number: number): boolean {
  switch (body.case) {
    case "tasksCalled":
      for (const { name } of body.value.called) {
        of.addTask({ name, caller: body.value.task, joined: number });
      }
      return true;
    case "rollbackBegan":
      of.addTask({
        ...{ name: body.value.rollback?.name ?? "", joined: number },
        rollsBack: true,
      });
      return true;
    case "callsStopping":
      for (const called of body.value.called) {
        if (of.tasks[called]?.state !== "leased") of.end(called, "itself", number, "cancelled");
      }
      return true;
    case "callsCancelled":
      for (const called of body.value.called) of.end(called, "itself", number, "cancelled");
      return true;
    default:
      return false;
  }
}

/** True when the event is about operations or reviews. */
function takeOperation(of: Incarnation, body: Event["body"], number: number): boolean {
  switch (body.case) {
    case "operationIntended":
      intend(of, body.value, number);
      return true;
    case "operationObserved": {
      const { outcome, late } = body.value;
      const isTold = outcome.case === "result" || outcome.case === "refused";
      become(of, body.value, number, isTold && late);
      return true;
    }
    case "operationDoubted":
      become(
        of,
        { operation: body.value.operation, next: OperationStatus.IN_DOUBT },
        number,
        false,
      );
      return true;
    case "operationReconciled":
      become(of, body.value, number, body.value.finding.case === "found");
      return true;
    case "reviewOpened": {
      const { subject, operation } = body.value;
      of.reviews.push({
        subject: subjects[subject] ?? "run",
        operation,
        waiting: new Set(),
        isOpen: true,
      });
      if (subject === ReviewSubject.OPERATION) {
        become(of, { operation, next: OperationStatus.NEEDS_REVIEW }, number, false);
      }
      return true;
    }
    case "reviewResolved": {
      const review = of.reviews[body.value.review];
      if (review !== undefined) resolve(of, review, body.value.choice, number);
      return true;
    }
    default:
      return false;
  }
}

function intend(of: Incarnation, event: OperationIntended, number: number): void {
  const { declaration, task, operation, consumed } = event;
  if (declaration !== undefined) {
    of.operations.push({
      ...{ key: declaration.key, declaredBy: declaration.task, task, joined: number },
      isOfRun: declaration.scope === OperationScope.RUN,
      ...{ state: "intended", calls: [number], isReconciled: false, settled: 0 },
    });
    const used = of.proposals.get(consumed?.proposal ?? -1);
    if (used !== undefined) used.state = "consumed";
    return;
  }
  const known = of.operations[operation];
  if (known !== undefined) {
    known.task = task;
    known.state = "intended";
    known.calls.push(number);
  }
}

const subjects: Readonly<Partial<Record<ReviewSubject, CheckedReview["subject"]>>> = {
  [ReviewSubject.OPERATION]: "operation",
  [ReviewSubject.TASK]: "task",
  [ReviewSubject.RUN]: "run",
};

function become(
  of: Incarnation,
  { operation, next }: { readonly operation: number; readonly next: OperationStatus },
  number: number,
  isReconciled: boolean,
): void {
  const known = of.operations[operation];
  if (known === undefined) return;
  known.isReconciled = isReconciled;
  switch (next) {
    case OperationStatus.INTENDED:
      known.state = "intended";
      break;
    case OperationStatus.IN_DOUBT:
      known.state = "doubt";
      break;
    case OperationStatus.NEEDS_REVIEW:
      known.state = "review";
      break;
    default:
      known.state = "settled";
      known.settled = number;
  }
}

function resolve(
  of: Incarnation,
  review: CheckedReview,
  choice: ReviewChoice,
  number: number,
): void {
  review.isOpen = false;
  if (review.subject === "run") {
    of.isFaulted = false;
  } else if (review.subject === "operation") {
    resolveOperation(of, review.operation, choice, number);
  }
  for (const task of review.waiting) {
    if (of.tasks[task]?.state === "review" && of.isRunOpen) {
      resolveTask(of, task, review, { choice, number });
    }
  }
}

function resolveTask(
  of: Incarnation,
  task: number,
  { subject }: CheckedReview,
  { choice, number }: { readonly choice: ReviewChoice; readonly number: number },
): void {
  const { RETRY, FAIL, DONE, SKIP, ACCEPT } = ReviewChoice;
  const waiting = of.tasks[task];
  if (subject === "task" ? choice === RETRY : choice !== FAIL) {
    if (waiting !== undefined) waiting.state = "idle";
    return;
  }
  const isDone = subject === "task" && (choice === DONE || choice === SKIP || choice === ACCEPT);
  of.end(task, "person", number, isDone ? "completed" : "lost");
}

function resolveOperation(
  of: Incarnation,
  number: number,
  choice: ReviewChoice,
  event: number,
): void {
  const operation = of.operations[number];
  // A late answer that came first has settled it.
  if (operation?.state !== "review") return;
  const task = of.tasks[operation.task];
  // Nobody's operation but the namespace's, where anybody may call.
  const isNobodys = of.tasks.length === 0;
  const mayCall =
    isNobodys ||
    (of.isRunOpen && (operation.isOfRun || (task !== undefined && task.state !== "ended")));
  const isCalledAgain =
    choice === ReviewChoice.RETRY || (choice === ReviewChoice.NOT_DONE && mayCall);
  operation.state = isCalledAgain ? "intended" : "settled";
  operation.isReconciled = !isCalledAgain;
  operation.settled = isCalledAgain ? 0 : event;
}

function takeProposal(of: Incarnation, body: Event["body"], number: number): void {
  switch (body.case) {
    case "proposalMade": {
      const { declaration, proposal } = body.value;
      const revised = of.proposals.get((declaration?.revises ?? 0) - 1);
      if (revised?.state === "open") revised.state = "superseded";
      const { key = "", task = 0 } = declaration ?? {};
      of.proposals.set(proposal, { key, task, joined: number, state: "open" });
      break;
    }
    case "proposalDecided":
      settleProposal(of, body.value.proposal, body.value.next);
      break;
    case "proposalEnded":
      settleProposal(of, body.value.proposal, body.value.status);
      break;
    default:
  }
}

function settleProposal(of: Incarnation, number: number, status: ProposalStatus): void {
  const proposal = of.proposals.get(number);
  const isOpen = status === ProposalStatus.PENDING || status === ProposalStatus.APPROVED;
  if (proposal !== undefined && !isOpen) {
    proposal.state = status === ProposalStatus.SUPERSEDED ? "superseded" : "over";
  }
}
