import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventBody, EventMeta } from "../event.js";
import type { Run } from "../state.js";
import { isSettled, isTaskClosed } from "../transitions.js";

/** What the events say of a task that its state does not keep. Event numbers are those of the run; 0: there is none. */
export interface TaskFacts {
  /** Event with which it joined the incarnation. */
  readonly joinedEvent: number;
  /** How often it was handed out again after a lease that had not ended by waiting. */
  again: number;
  /** Event of the last time. */
  againEvent: number;
  /** Event of its last lease. */
  leasedEvent: number;
  /** Last event that names it. */
  lastEvent: number;
  closedEvent: number;
  /** True while its last lease ended because it waits. */
  hasSuspended: boolean;
}

/** The same of an operation. */
export interface OperationFacts {
  /** Event that declared it. */
  readonly joinedEvent: number;
  lastEvent: number;
  /** Calls of it that came after the event from which on a report counts. */
  callsSince: number;
  settledEvent: number;
}

/** The facts of one incarnation. */
export class RecoveryFacts {
  readonly tasks: TaskFacts[] = [];
  readonly operations: OperationFacts[] = [];
  /** Event that set the run aside. */
  faultEvent = 0;
  #openTasks = 0;

  /**
   * Takes one event in, after it was applied.
   *
   * @param counts false for what came before the event from which on a report counts.
   */
  add(run: Run, body: EventBody, { number }: Pick<EventMeta, "number">, counts: boolean): void {
    for (let task = this.tasks.length; task < run.tasks.length; task++) {
      this.tasks.push(newTaskFacts(number));
      this.#openTasks++;
    }
    for (let operation = this.operations.length; operation < run.operations.length; operation++) {
      const facts = { joinedEvent: number, lastEvent: number, callsSince: 0, settledEvent: 0 };
      this.operations.push(facts);
    }
    if (body.case === "runFaulted") {
      this.faultEvent = number;
    }
    this.#noteTask(body, number, counts);
    this.#noteOperation(run, body, number, counts);
    if (run.openTasks < this.#openTasks) {
      this.#noteEnds(run, body, number);
    }
  }

  #noteTask(body: EventBody, number: number, counts: boolean): void {
    const facts = this.tasks[taskNamedBy(body) ?? -1];
    if (facts === undefined) {
      return;
    }
    facts.lastEvent = number;
    if (body.case === "taskLeased") {
      const isAgain = facts.leasedEvent > 0 && !facts.hasSuspended;
      facts.again += isAgain && counts ? 1 : 0;
      facts.againEvent = isAgain ? number : facts.againEvent;
      facts.leasedEvent = number;
      facts.hasSuspended = false;
    } else if (body.case === "taskSuspended") {
      facts.hasSuspended = true;
    }
  }

  #noteOperation(run: Run, body: EventBody, number: number, counts: boolean): void {
    const operation = operationNamedBy(run, body) ?? -1;
    const facts = this.operations[operation];
    if (facts === undefined) {
      return;
    }
    facts.lastEvent = number;
    facts.callsSince += body.case === "operationIntended" && counts ? 1 : 0;
    const status = run.operations[operation]?.status;
    if (facts.settledEvent === 0 && status !== undefined && isSettled(status)) {
      facts.settledEvent = number;
    }
  }

  /** Most events end the task that they name; only those that end several are looked for. */
  #noteEnds(run: Run, body: EventBody, number: number): void {
    const named = taskNamedBy(body);
    const ended = this.#openTasks - run.openTasks;
    this.#openTasks = run.openTasks;
    if (ended === 1 && named !== undefined && this.#noteEnd(run, named, number)) {
      return;
    }
    for (const { number: task } of run.tasks) {
      this.#noteEnd(run, task, number);
    }
  }

  #noteEnd(run: Run, task: number, number: number): boolean {
    const facts = this.tasks[task];
    const state = run.tasks[task];
    if (facts === undefined || state === undefined || !isTaskClosed(state.status)) {
      return false;
    }
    if (facts.closedEvent > 0) {
      return false;
    }
    facts.closedEvent = number;
    facts.lastEvent = number;
    return true;
  }
}

function newTaskFacts(joinedEvent: number): TaskFacts {
  return {
    joinedEvent,
    lastEvent: joinedEvent,
    ...{ again: 0, againEvent: 0, leasedEvent: 0, closedEvent: 0, hasSuspended: false },
  };
}

/** The task that an event is about. */
function taskNamedBy({ case: name, value }: EventBody): number | undefined {
  switch (name) {
    case "taskChanged":
    case "taskLeased":
    case "leaseEnded":
    case "taskCompleted":
    case "attemptFailed":
    case "taskReady":
    case "taskTimedOut":
    case "taskCancelled":
    case "taskSuspended":
    case "waitEnded":
    case "waitsOpened":
    case "runContinued":
      return value.task;
    default:
      return undefined;
  }
}

/** The operation that an event is about. */
function operationNamedBy(run: Run, body: EventBody): number | undefined {
  switch (body.case) {
    case "operationIntended":
    case "operationObserved":
    case "operationDoubted":
    case "operationReconciled":
      return body.value.operation;
    case "reviewOpened":
    case "reviewResolved": {
      const review = run.reviews[body.value.review];
      // Other subjects leave it 0, which is an operation's number as well.
      return review?.subject === ReviewSubject.OPERATION ? review.operation : undefined;
    }
    default:
      return undefined;
  }
}
