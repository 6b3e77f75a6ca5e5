import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { EventIndex } from "@pawl/server/core/view/event-index.js";
import { expect, test } from "vitest";
import {
  cancelRun,
  changeTask,
  completeTask,
  endLease,
  failTask,
  intend,
  leaseTask,
  observe,
  observeResult,
  recordStep,
  startRun,
} from "../support/commands.js";
import { Machine } from "../support/machine.js";
import { planOf, type TaskParts } from "../support/plans.js";
import { reportLines, reportWords } from "../support/report.js";
import { revisePlan } from "../support/revisions.js";
import { failure } from "../support/values.js";

const at0 = { retry: { initialMs: 0, jitter: 0 } };

function started(tasks: Readonly<Record<string, TaskParts>>): Machine {
  const machine = new Machine();
  machine.start(startRun(planOf(tasks)));
  return machine;
}

/** The next attempt of task 0 begins. */
function retry(machine: Machine): void {
  machine.nowMs += 1;
  machine.do({ kind: "FireDeadline", task: 0 });
  machine.do(leaseTask(0));
}

test("what ran once is untouched, and its lines name the events that show it", () => {
  const machine = started({ only: {} });
  machine.do(leaseTask(0));
  machine.do(intend(1, "i1"));
  machine.do(observeResult("i1"));
  machine.do(completeTask(1));
  expect(reportWords(machine)).toEqual(["only UNTOUCHED", "only+mail UNTOUCHED"]);
  expect(reportLines(machine).map(({ eventNumbers }) => eventNumbers)).toEqual([
    [2, 5],
    [3, 4],
  ]);
});

test("a worker that died after its effect was observed: retried, and the effect reused", () => {
  const machine = started({ only: at0 });
  machine.do(leaseTask(0));
  machine.do(recordStep(1));
  machine.do(intend(1, "i1"));
  machine.do(observeResult("i1"));
  machine.do(endLease(1, LeaseEndReason.EXPIRED));
  retry(machine);
  machine.do(completeTask(2));
  expect(reportWords(machine)).toEqual(["only RETRIED", "only+mail REUSED"]);
  expect(reportLines(machine)[0]?.sentence).toBe(
    "It took 2 attempts; now it is COMPLETED. 1 recorded step was kept through all attempts.",
  );
});

test("a worker that died before an idempotent sink answered: called again under the same key", () => {
  const sink = { sinkKind: SinkKind.IDEMPOTENT, keyWindowMs: 3_600_000 };
  const machine = started({ only: at0 });
  machine.do(leaseTask(0));
  machine.do(intend(1, "i1", sink));
  machine.do(endLease(1, LeaseEndReason.EXPIRED));
  retry(machine);
  expect(reportWords(machine)).toEqual(["only WAITING", "only+mail WAITING"]);
  machine.do(intend(2, "i2", sink));
  machine.do(observeResult("i2"));
  machine.do(completeTask(2));
  expect(reportWords(machine)).toEqual(["only RETRIED", "only+mail RETRIED"]);
});

test("a late observation settles what was in doubt: reconciled", () => {
  const machine = started({ only: at0 });
  machine.do(leaseTask(0));
  machine.do(intend(1, "i1"));
  machine.do(endLease(1, LeaseEndReason.EXPIRED));
  machine.do(observeResult("i1"));
  retry(machine);
  machine.do(completeTask(2));
  expect(reportWords(machine)).toEqual(["only RETRIED", "only+mail RECONCILED"]);
});

test("an opaque sink whose outcome nobody knows needs a person", () => {
  const machine = started({ only: at0, other: {} });
  machine.do(leaseTask(0));
  machine.do(intend(1, "i1"));
  machine.do(observe("i1", { case: "unknown", value: failure() }));
  machine.nowMs += 60_000;
  machine.do(intend(1, "i2"));
  expect(reportWords(machine)).toEqual([
    "only NEEDS_REVIEW",
    "only+mail NEEDS_REVIEW",
    "other WAITING",
  ]);
});

test("what never ran is skipped, for either reason", () => {
  const failed = started({ only: { retry: { attemptsMax: 1 } }, later: { needs: ["only"] } });
  failed.do(leaseTask(0));
  failed.do(failTask(1));
  expect(reportWords(failed)).toEqual(["only UNTOUCHED", "later SKIPPED"]);
  const cancelled = started({ only: {} });
  cancelled.do(cancelRun());
  expect(reportWords(cancelled)).toEqual(["only SKIPPED"]);
});

test("a task that was handed out again without using an attempt says so", () => {
  const machine = started({ only: {} });
  machine.do(leaseTask(0));
  machine.do(endLease(1, LeaseEndReason.NOT_ACKNOWLEDGED));
  machine.do(leaseTask(0));
  machine.do(completeTask(2));
  expect(reportLines(machine).map(({ sentence }) => sentence)).toEqual([
    "It was handed out 2 times, and one attempt counts; now it is COMPLETED.",
  ]);
});

test("every task and every operation is on exactly one line, tasks in plan order", () => {
  const machine = started({ a: {}, b: {}, c: { needs: ["a", "b"] } });
  machine.do(leaseTask(1));
  machine.do(intend(1, "i1", { lease: { task: 1, leaseVersion: 1 } }));
  machine.do(intend(1, "i2", { lease: { task: 1, leaseVersion: 1 }, key: "2" }));
  machine.do(leaseTask(0));
  machine.do(intend(1, "i3"));
  const keys = reportLines(machine).map(({ task, operationKey }) => `${task} ${operationKey}`);
  expect(keys).toEqual([
    "a ",
    "a task/default/r1/1/a/mail/1",
    "b ",
    "b task/default/r1/1/b/mail/1",
    "b task/default/r1/1/b/mail/1/2",
    "c ",
  ]);
});

test("a long story keeps its beginning and its end", () => {
  const index = new EventIndex();
  for (let number = 1; number <= 200; number++) {
    index.add({ case: "taskReady", value: { task: 0 } }, number);
  }
  const numbers = index.ofTask(0);
  expect(numbers).toHaveLength(50);
  expect([numbers[0], numbers.at(-1)]).toEqual([1, 200]);
});

test("what a worker was given again stands as reused: the task before it, and what it called", () => {
  const machine = started({ first: {}, only: { ...at0, needs: ["first"] } });
  machine.do(leaseTask(0));
  machine.do(completeTask(1));
  machine.do(leaseTask(1));
  expect(reportWords(machine)).toEqual(["first UNTOUCHED", "only WAITING"]);
  machine.do(endLease(1, LeaseEndReason.EXPIRED, { task: 1 }));
  machine.nowMs += 1;
  machine.do({ kind: "FireDeadline", task: 1 });
  machine.do(leaseTask(1));
  expect(reportWords(machine)).toEqual(["first REUSED", "only WAITING"]);
});

test("a line says how many attempts there were and are, when it began and ended, and which event proves it", () => {
  const machine = started({ only: at0 });
  const startedAtMs = machine.nowMs;
  machine.do(leaseTask(0));
  machine.do(endLease(1, LeaseEndReason.EXPIRED));
  machine.nowMs += 60_000;
  machine.do({ kind: "FireDeadline", task: 0 });
  machine.do(leaseTask(0));
  const [open] = reportLines(machine);
  expect(open).toMatchObject({
    attemptsUsed: 1,
    attemptsMax: 5,
    endedAtMs: 0,
    observedAtMs: 0,
    proofEvent: 5,
  });
  machine.nowMs += 1000;
  machine.do(completeTask(2));
  expect(reportLines(machine)[0]).toMatchObject({
    ...{ attemptsUsed: 2, attemptsMax: 5, firstReadyAtMs: startedAtMs, proofEvent: 6 },
    ...{ lastLeasedAtMs: startedAtMs + 60_000, endedAtMs: startedAtMs + 61_000 },
    observedAtMs: startedAtMs + 61_000,
  });
});

test("what a person ended by hand is reconciled: no attempt of it said so", () => {
  const machine = started({ only: {} });
  machine.do(changeTask({ case: "completed", output: undefined }, 0));
  expect(reportWords(machine)).toEqual(["only RECONCILED"]);
});

test("what a revision of the plan took away stays on a line of its own, as superseded", () => {
  const machine = started({ first: {}, old: {} });
  machine.do(leaseTask(1));
  machine.do(revisePlan(1, { first: {}, new: {} }));
  expect(reportWords(machine)).toEqual(["first WAITING", "old SUPERSEDED", "new WAITING"]);
});
