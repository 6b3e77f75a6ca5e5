import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { explainRun, explainWait } from "@pawl/server/core/view/why.js";
import { expect, test } from "vitest";
import {
  answerWait,
  cancelRun,
  completeTask,
  endLease,
  failTask,
  intend,
  leaseTask,
  makeObligation,
  observe,
  startRun,
  suspend,
} from "../support/commands.js";
import { Machine } from "../support/machine.js";
import { planOf, type TaskParts } from "../support/plans.js";
import { failure, START_MS } from "../support/values.js";

const noJitter = { retry: { jitter: 0, initialMs: 12_000 } };

function started(tasks: Readonly<Record<string, TaskParts>>): Machine {
  const machine = new Machine();
  machine.start(startRun(planOf(tasks)));
  return machine;
}

function why(machine: Machine): string {
  return explainRun(machine.state, { nowMs: machine.nowMs });
}

test("a task that nobody took says what must be served", () => {
  const machine = started({ send: { kind: "mail", queue: "eu" } });
  expect(why(machine)).toBe(
    'Task "send" waits for a free worker that serves kind "mail" in queue "eu" for attempt 1 of 5.',
  );
});

test("a task that nobody could take says since when, and what must be connected", () => {
  const machine = started({ send: { kind: "mail", queue: "eu" } });
  machine.nowMs += 300_000;
  const asked: string[][] = [];
  const isServed = (...names: string[]): boolean => {
    asked.push(names);
    return false;
  };
  const sentence =
    'Task "send" has been ready for attempt 1 of 5 for 5 min, but no worker that serves kind "mail" in queue "eu" is connected.';
  expect(explainRun(machine.state, { nowMs: machine.nowMs, isServed })).toBe(sentence);
  expect(explainWait(machine.state, 0, { nowMs: machine.nowMs, isServed })).toBe(sentence);
  expect(asked[0]).toEqual(["default", "eu", "mail"]);
});

test("a task that runs names its worker and since when", () => {
  const machine = started({ send: {}, later: { needs: ["send"] } });
  machine.do(leaseTask(0));
  machine.nowMs += 3_000;
  expect(why(machine)).toBe(
    'Task "send" has run at worker "w1" for 3 s (attempt 1 of 5); 1 more task is open.',
  );
  expect(explainWait(machine.state, 0, { nowMs: machine.nowMs })).toBe("");
  expect(explainWait(machine.state, 1, { nowMs: machine.nowMs })).toBe(
    'Task "later" waits until "send" completes.',
  );
});

test("a failed attempt says how long the next one waits, and why", () => {
  const machine = started({ send: noJitter });
  machine.do(leaseTask(0));
  machine.do(failTask(1, { failure: failure({ kind: "Timeout", message: "no answer." }) }));
  expect(why(machine)).toBe(
    'Task "send" waits 12 s for attempt 2 of 5: the last one failed with Timeout: no answer.',
  );
});

test("a task that waits for another run names it", () => {
  const machine = started({ send: {} });
  machine.do(leaseTask(0));
  machine.do(makeObligation(1, { runId: "invoice-7" }));
  machine.do(suspend(1, { waits: [answerWait()] }));
  expect(why(machine)).toBe('Task "send" waits until run "invoice-7" has answered.');
});

test("a task that was given back says so", () => {
  const machine = started({ send: {} });
  machine.do(leaseTask(0));
  machine.do(endLease(1, LeaseEndReason.RETURNED, { delayMs: 90_000 }));
  expect(why(machine)).toBe('Task "send" waits 90 s for attempt 1 of 5: its worker gave it back.');
});

test("an unknown outcome says that a person must look", () => {
  const machine = started({ only: {}, other: {} });
  machine.do(leaseTask(0));
  machine.do(intend(1, "i1"));
  machine.do(observe("i1", { case: "unknown", value: failure({ kind: "Timeout" }) }));
  machine.nowMs += 60_000;
  machine.do(intend(1, "i2"));
  expect(why(machine)).toBe(
    'Task "only" waits for a person: nobody knows whether operation "mail" took effect; ' +
      "look at the sink and resolve its review; 1 more task is open.",
  );
});

test("a cancelled run that still cleans up says both", () => {
  const machine = started({ send: {} });
  machine.do(leaseTask(0));
  machine.do(cancelRun());
  expect(why(machine)).toBe(
    'Cancellation was requested ("enough"). Task "send" was told to stop, and worker "w1" may still clean up.',
  );
});

test("ends are told with how they came about", () => {
  const completed = started({ one: {}, two: {} });
  completed.do(leaseTask(0));
  completed.do(leaseTask(1));
  completed.nowMs += 2_500;
  completed.do(completeTask(1));
  completed.do(completeTask(1, { task: 1 }));
  expect(why(completed)).toBe("It completed after 3 s: all 2 tasks did their work.");

  const failed = started({ send: { retry: { attemptsMax: 1 } }, later: { needs: ["send"] } });
  failed.do(leaseTask(0));
  failed.do(failTask(1, { failure: failure({ kind: "Declined", message: "no funds" }) }));
  expect(why(failed)).toBe(
    'Task "send" failed for good after 1 attempt, the last one with Declined: no funds. 1 task that needed it never ran.',
  );

  const cancelled = started({ send: {} });
  cancelled.do(cancelRun());
  expect(why(cancelled)).toBe('It was cancelled ("enough"), and what was running has ended.');
});

test("texts of others are cut visibly, never in the middle of a character", () => {
  const machine = started({ send: noJitter });
  machine.do(leaseTask(0));
  const message = `${"x".repeat(293)}\u{1F527}tail`;
  machine.do(failTask(1, { failure: failure({ kind: "Boom", message }) }));
  const sentence = why(machine);
  expect(sentence.length).toBeLessThan(400);
  expect(sentence.endsWith("x….")).toBe(true);
});

test("a deadline that has passed is never told as negative", () => {
  const machine = started({ send: noJitter });
  machine.do(leaseTask(0));
  machine.do(failTask(1));
  machine.nowMs = START_MS + 3_600_000;
  expect(why(machine)).toContain("waits 0 ms for attempt 2");
});
