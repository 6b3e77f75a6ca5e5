import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventBody } from "../event.js";

/** Most event numbers that are kept for one thing: the first and last ones tell the story. */
const numbersMax = 50;

/** Which events of a run show what became of its tasks and operations. */
export class EventIndex {
  readonly #byTask = new Map<number, number[]>();
  readonly #byOperation = new Map<number, number[]>();
  readonly #byProposal = new Map<number, number[]>();
  /** What the reviews of this incarnation are about, by their numbers. */
  readonly #reviews: { readonly subject: ReviewSubject; task: number; operation: number }[] = [];

  /** Notes one event; `number` is its place in the run. */
  add(body: EventBody, number: number): void {
    switch (body.case) {
      case "runRestarted":
      case "runContinued":
        // What follows is of another incarnation, with tasks and operations of its own.
        this.#byTask.clear();
        this.#byOperation.clear();
        this.#reviews.length = 0;
        break;
      case "operationIntended":
      case "operationObserved":
      case "operationDoubted":
      case "operationReconciled":
        note(this.#byOperation, body.value.operation, number);
        break;
      case "reviewOpened":
        this.#reviews[body.value.review] = body.value;
        this.#noteReview(body.value.review, number);
        break;
      case "reviewResolved":
        this.#noteReview(body.value.review, number);
        break;
      case "proposalMade":
      case "proposalDecided":
      case "proposalEnded":
        note(this.#byProposal, body.value.proposal, number);
        break;
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
      case "tasksCalled":
      case "callsStopping":
      case "callsAbandoned":
      case "callsCancelled":
      case "rollbackBegan":
      case "stepRecorded":
        note(this.#byTask, body.value.task, number);
        break;
      default:
    }
  }

  #noteReview(review: number, number: number): void {
    const about = this.#reviews[review];
    if (about?.subject === ReviewSubject.OPERATION) {
      note(this.#byOperation, about.operation, number);
    } else if (about?.subject === ReviewSubject.TASK) {
      note(this.#byTask, about.task, number);
    }
  }

  /** Adds the event that ended a task which it does not name: one that was skipped, or ended with its run. */
  addEnd(task: number, number: number): void {
    if (this.#byTask.get(task)?.at(-1) !== number) {
      note(this.#byTask, task, number);
    }
  }

  /** Numbers of the events of a task, in order. */
  ofTask(task: number): readonly number[] {
    return this.#byTask.get(task) ?? [];
  }

  /** Numbers of the events of a proposal, in order; the intent that consumed it is its operation's. */
  ofProposal(proposal: number): readonly number[] {
    return this.#byProposal.get(proposal) ?? [];
  }

  /** Numbers of the events of an operation, in order. */
  ofOperation(operation: number): readonly number[] {
    return this.#byOperation.get(operation) ?? [];
  }
}

function note(index: Map<number, number[]>, key: number, number: number): void {
  const numbers = index.get(key);
  if (numbers === undefined) {
    index.set(key, [number]);
  } else if (numbers.length < numbersMax) {
    numbers.push(number);
  } else {
    numbers[numbersMax - 1] = number;
  }
}
