import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import { UndoingTasks } from "./functions/undoing-tasks.js";
import type { ShadowRun } from "./shadow-log.js";

/** What a judge of its own knows of a task: it shares no code with the kernel. */
interface JudgedTask {
  leaseVersion: number;
  isLeased: boolean;
  isEnded: boolean;
  backoffUntilMs: number;
}

/** What is to be judged of a run. */
export type LoggedRun = Pick<ShadowRun, "number" | "events"> & {
  readonly state: Pick<ShadowRun["state"], "kind">;
};

/** A deadline on which nothing has followed for so long is forgotten, in ms. */
const lateMs = 60_000;

/** What may come after the end of a run: words about calls that were under way, and what parents, children and other runs are told and answer. */
const afterTheEnd = new Set([
  ...["operationObserved", "reviewOpened", "reviewResolved"],
  ...["obligationMade", "obligationSettled"],
]);

/**
 * What the events of one run must be like whoever decided them: one lease at a time, with versions that rise by one; reports only of the lease
 * that holds; no lease and no intent in a paused run; nothing after a task's or the run's end; no backoff cut short; no time that goes back; no step recorded twice.
 */
export class LogJudge {
  readonly #complain: (text: string) => void;
  readonly #run: LoggedRun;
  readonly #tasks = new Map<number, JudgedTask>();
  readonly #steps = new Set<string>();
  /** What may happen once in all incarnations, or once in one of them. */
  readonly #happened = new Set<string>();
  readonly #taskReviews = new Map<number, number>();
  /** When the run is stopped if it is still open then. */
  #deadlineMs = Number.POSITIVE_INFINITY;
  #isFaulted = false;
  readonly #undoing = new UndoingTasks();
  /** Signals by the events by which waits took them. */
  readonly #taken = new Map<number, number>();
  #isOver = false;
  #isCancelled = false;
  #isPaused = false;
  #lastMs = 0;
  #incarnation = 1;
  /** No lease of an incarnation has a version that one of an earlier had. */
  #leaseVersionBase = 0;

  constructor(run: LoggedRun, complain: (text: string) => void) {
    this.#run = run;
    this.#complain = complain;
  }

  /** Judges all events, and that nothing is missing that was due by the time at which nothing more happens, in ms since the Unix epoch. */
  judge(nowMs: number): void {
    for (const event of this.#run.events) {
      this.#hear(event);
    }
    const isStopped = this.#isOver || this.#isFaulted || this.#isCancelled;
    if (this.#deadlineMs + lateMs < nowMs && !isStopped) {
      this.#complain(
        `run ${this.#run.number}: expected an end at ${this.#deadlineMs}, but it is open at ${nowMs}`,
      );
    }
  }

  #hear(event: StoredEvent): void {
    const { body, atMs, number } = event;
    this.#require(atMs >= this.#lastMs, number, "time that does not go back");
    this.#lastMs = atMs;
    this.#undoing.hear(body);
    this.#require(
      !this.#isOver || afterTheEnd.has(body.case) || body.case === "runRestarted",
      number,
      `nothing like ${body.case} after the end of the run`,
    );
    switch (body.case) {
      case "taskLeased":
        this.#lease(event, body.value);
        break;
      case "taskCompleted":
        this.#endLease(event, body.value).isEnded = true;
        break;
      case "taskCancelled":
        this.#endLease(event, body.value).isEnded = true;
        break;
      case "taskSuspended":
        this.#endLease(event, body.value).isEnded = body.value.next === TaskStatus.CANCELLED;
        break;
      case "attemptFailed":
      case "leaseEnded": {
        const task = this.#endLease(event, body.value);
        const { next, readyAtMs } = body.value;
        task.isEnded = next === TaskStatus.FAILED || next === TaskStatus.CANCELLED;
        task.backoffUntilMs = next === TaskStatus.BACKOFF ? readyAtMs : 0;
        break;
      }
      case "taskReady": {
        const task = this.#task(body.value.task);
        this.#require(task.backoffUntilMs > 0, number, "a task in backoff");
        this.#require(atMs >= task.backoffUntilMs, number, "a backoff that is over");
        task.backoffUntilMs = 0;
        break;
      }
      case "taskChanged": {
        const task = this.#task(body.value.task);
        const { case: what } = body.value.change;
        this.#require(!task.isEnded, number, "a task that had not ended");
        task.backoffUntilMs = what === "backoffSkipped" ? 0 : task.backoffUntilMs;
        if (what === "completed" || what === "failed") {
          task.isEnded = true;
          task.isLeased = false;
        }
        break;
      }
      case "taskTimedOut": {
        const task = this.#task(body.value.task);
        this.#require(!task.isEnded, number, "a task that had not ended");
        task.isEnded = true;
        task.isLeased = false;
        break;
      }
      case "callsCancelled":
      case "callsStopping":
        this.#leaveCalls(body.case, body.value.called);
        break;
      case "runContinued":
        this.#endLease(event, body.value);
        this.#require(!this.#isCancelled, number, "a run that nobody asked to stop");
        this.#restart(number, body.value);
        this.#giveBack(body.value.seenThrough);
        break;
      case "stepRecorded": {
        const { task, leaseVersion, name } = body.value;
        this.#requireLease(number, task, leaseVersion);
        this.#require(!this.#steps.has(`${task}/${name}`), number, "a step recorded once");
        this.#steps.add(`${task}/${name}`);
        break;
      }
      default:
        this.#hearRun(event);
    }
  }

  #hearRun({ body, number }: StoredEvent): void {
    switch (body.case) {
      case "operationIntended":
        this.#require(!this.#isPaused, number, "no intent in a paused run");
        if (this.#run.state.kind === "run") {
          this.#requireLease(number, body.value.task, body.value.leaseVersion);
        }
        break;
      case "waitEnded":
        this.#once(number, `end of wait ${body.value.wait} in ${this.#incarnation}`);
        if (body.value.outcome.case === "signalTaken") {
          this.#once(number, `taking of signal ${body.value.outcome.value.signal}`);
          this.#taken.set(body.value.outcome.value.signal, number);
        }
        break;
      case "signalReceived":
        if (body.value.from === undefined) {
          this.#once(number, `signal of request ${body.value.requestId}`);
        }
        break;
      case "inputAnswered":
        this.#once(number, `answer to input ${body.value.input} in ${this.#incarnation}`);
        break;
      case "reviewOpened":
        if (body.value.subject === ReviewSubject.TASK) {
          this.#taskReviews.set(body.value.review, body.value.task);
        }
        break;
      case "reviewResolved":
        this.#decide(body.value);
        break;
      case "cancelRequested":
        this.#isCancelled = true;
        this.#isPaused = false;
        break;
      case "runPaused":
        this.#require(!this.#isPaused && !this.#isCancelled, number, "a run to pause");
        this.#isPaused = true;
        break;
      case "runResumed":
        this.#require(this.#isPaused, number, "a paused run");
        this.#isPaused = false;
        break;
      case "runClosed":
        this.#isOver = true;
        break;
      case "runStarted":
        this.#once(number, `beginning by request ${body.value.requestId}`);
        this.#deadlineMs = body.value.deadline?.atMs ?? Number.POSITIVE_INFINITY;
        break;
      case "runRestarted":
        this.#require(this.#isOver, number, "a run that had ended");
        this.#once(number, `beginning by request ${body.value.requestId}`);
        this.#restart(number, body.value);
        this.#deadlineMs = body.value.deadline?.atMs ?? Number.POSITIVE_INFINITY;
        this.#isPaused = false;
        break;
      case "runTimedOut":
        this.#require(this.#lastMs >= this.#deadlineMs, number, "a run whose deadline has passed");
        this.#require(!this.#isCancelled, number, "a run that nobody asked to stop");
        this.#isCancelled = true;
        this.#isPaused = false;
        break;
      case "runFaulted":
        this.#isFaulted = true;
        this.#require(false, number, `no fault of the kernel (${body.value.error})`);
        break;
      default:
    }
  }

  /** What nobody holds ends when it is asked to stop. */
  #leaveCalls(how: "callsCancelled" | "callsStopping", called: readonly number[]): void {
    for (const number of called) {
      const task = this.#task(number);
      task.isEnded ||= how === "callsCancelled" || !task.isLeased;
      task.isLeased &&= !task.isEnded;
    }
  }

  /** All is as in a run that begins, but for what never comes again. */
  #restart(number: number, value: { readonly incarnation: number }): void {
    this.#require(value.incarnation === this.#incarnation + 1, number, "the next incarnation");
    this.#incarnation = value.incarnation;
    this.#leaseVersionBase = Math.max(
      this.#leaseVersionBase,
      ...[...this.#tasks.values()].map(({ leaseVersion }) => leaseVersion),
    );
    this.#tasks.clear();
    this.#steps.clear();
    this.#taskReviews.clear();
    this.#isOver = false;
    this.#isCancelled = false;
  }

  /** What a wait took and its code was not given is taken once more. */
  #giveBack(seenThrough: number | undefined): void {
    for (const [signal, event] of this.#taken) {
      if (event > (seenThrough ?? event)) {
        this.#happened.delete(`taking of signal ${signal}`);
      }
    }
    this.#taken.clear();
  }

  #once(number: number, what: string): void {
    this.#require(!this.#happened.has(what), number, `one ${what}`);
    this.#happened.add(what);
  }

  /** What a person decided about a task ends it, unless it is tried again. */
  #decide({ review, choice }: { readonly review: number; readonly choice: ReviewChoice }): void {
    const task = this.#taskReviews.get(review);
    if (task !== undefined && choice !== ReviewChoice.RETRY) {
      this.#task(task).isEnded = true;
    }
  }

  #lease(
    { number, atMs }: StoredEvent,
    value: { readonly task: number; readonly leaseVersion: number },
  ): void {
    const task = this.#task(value.task);
    this.#require(!task.isLeased, number, "one lease at a time");
    this.#require(!task.isEnded, number, "a task that has not ended");
    const mayBegin = !this.#isCancelled || this.#undoing.has(value.task);
    this.#require(mayBegin, number, "no lease after cancellation");
    this.#require(!this.#isPaused, number, "no lease in a paused run");
    this.#require(
      value.leaseVersion === task.leaseVersion + 1,
      number,
      `lease version ${task.leaseVersion + 1}`,
    );
    this.#require(atMs >= task.backoffUntilMs, number, "a backoff that is over");
    task.isLeased = true;
    task.leaseVersion = value.leaseVersion;
  }

  #endLease(
    { number }: StoredEvent,
    value: { readonly task: number; readonly leaseVersion: number },
  ): JudgedTask {
    this.#requireLease(number, value.task, value.leaseVersion);
    const task = this.#task(value.task);
    task.isLeased = false;
    return task;
  }

  #requireLease(number: number, task: number, leaseVersion: number): void {
    const judged = this.#task(task);
    this.#require(
      judged.isLeased && judged.leaseVersion === leaseVersion,
      number,
      `lease ${leaseVersion} of task ${task} to hold`,
    );
  }

  #task(number: number): JudgedTask {
    let task = this.#tasks.get(number);
    if (task === undefined) {
      const leaseVersion = this.#leaseVersionBase;
      task = { leaseVersion, isLeased: false, isEnded: false, backoffUntilMs: 0 };
      this.#tasks.set(number, task);
    }
    return task;
  }

  #require(isGood: boolean, event: number, expected: string): void {
    if (!isGood) {
      this.#complain(`run ${this.#run.number}, event ${event}: expected ${expected}`);
    }
  }
}
