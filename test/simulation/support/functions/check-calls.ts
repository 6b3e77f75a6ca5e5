import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { plannedSpec } from "@pawl/server/core/plan/tasks-of-run.js";
import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import { begins, stateOf } from "../incarnations.js";
import type { ShadowLog, ShadowRun } from "../shadow-log.js";

/**
 * What callers said of their calls, by the events alone: a call that was asked to stop has all of its grace, and one that was let go goes on, whatever becomes of their
 * callers; neither is ended as one that nobody wants any more.
 */
export function checkCalls(shadow: ShadowLog, complain: (text: string) => void): void {
  for (const run of shadow.runs.values()) {
    const judge = new CallJudge(run, complain);
    for (const event of run.events) {
      judge.hear(event);
    }
  }
}

class CallJudge {
  readonly #run: ShadowRun;
  readonly #complain: (text: string) => void;
  /** When which call was asked to stop. */
  readonly #stopped = new Map<number, number>();
  readonly #abandoned = new Set<number>();
  #cancelledAtMs = Number.POSITIVE_INFINITY;

  constructor(run: ShadowRun, complain: (text: string) => void) {
    this.#run = run;
    this.#complain = complain;
  }

  hear({ body, atMs, number }: StoredEvent): void {
    if (begins(body)) {
      this.#stopped.clear();
      this.#abandoned.clear();
      this.#cancelledAtMs = Number.POSITIVE_INFINITY;
    }
    switch (body.case) {
      case "callsStopping":
        for (const called of body.value.called) this.#stopped.set(called, atMs);
        break;
      case "callsAbandoned":
        for (const called of body.value.called) this.#abandoned.add(called);
        break;
      case "cancelRequested":
      case "runTimedOut":
        this.#cancelledAtMs = atMs;
        break;
      case "callsCancelled":
        this.#cancelled(body.value.called, number);
        break;
      case "leaseEnded":
        this.#leaseEnded(body, { atMs, number });
        break;
      default:
    }
  }

  #cancelled(called: readonly number[], event: number): void {
    for (const task of called) {
      if (this.#stopped.has(task)) {
        this.#say(event, `task ${task} was asked to stop, but it is ended before its grace`);
      }
      if (this.#abandoned.has(task)) {
        this.#say(event, `task ${task} was let go, but it is ended`);
      }
    }
  }

  #leaseEnded(
    { value }: Extract<EventBody, { case: "leaseEnded" }>,
    { atMs, number }: { readonly atMs: number; readonly number: number },
  ): void {
    if (value.reason !== LeaseEndReason.GRACE_OVER) {
      return;
    }
    const graceMs = plannedSpec(stateOf(this.#run, number), value.task)?.cancelGraceMs ?? 0;
    const askedAtMs = Math.min(
      this.#stopped.get(value.task) ?? Number.POSITIVE_INFINITY,
      this.#cancelledAtMs,
    );
    if (atMs < askedAtMs + graceMs) {
      this.#say(number, `the grace of task ${value.task} (${graceMs} ms) is not over`);
    }
  }

  #say(event: number, what: string): void {
    this.#complain(`run ${this.#run.number}, event ${event}: ${what}`);
  }
}
