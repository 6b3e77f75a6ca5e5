import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { apply, applyFirst, compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import { decideFollowUp } from "@pawl/server/core/decide/follow-up.js";
import { decideStartRun } from "@pawl/server/core/decide/start-run.js";
import { decide } from "@pawl/server/core/decide.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { findViolations } from "@pawl/server/core/invariants.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import { recordedNames } from "@pawl/server/rpc/streams/recorded-names.js";
import { recordPage } from "@pawl/server/rpc/streams/records.js";
import { describe, expect, it } from "vitest";
import { callTasks, completeTask, endLease, startRun } from "./support/commands.js";
import { contextAt } from "./support/context.js";
import {
  attemptFailed,
  declared,
  leased,
  reviewOpened,
  stepRecorded,
  tasksCalled,
} from "./support/events.js";
import { planOf } from "./support/plans.js";
import { START_MS } from "./support/values.js";

const CALLED = 300;
/** What the others hold is hundreds; what one task holds is a few, each looked at a few times. */
const READS_MAX = 30;

/** Counts each look at a part of something that all tasks of a run share. */
class Looks {
  count = 0;

  /** An array whose looks are counted. */
  at<T>(items: T[]): T[] {
    return new Proxy(items, {
      get: (target, name, receiver) => {
        this.count += typeof name === "string" && /^\d+$/.test(name) ? 1 : 0;
        return Reflect.get(target, name, receiver);
      },
    });
  }

  /** A set whose walks are counted. */
  through<T>(items: Set<T>): Set<T> {
    const looks = this;
    return new (class extends Set<T> {
      override *[Symbol.iterator](): SetIterator<T> {
        for (const item of super.values()) {
          looks.count++;
          yield item;
        }
      }
    })(items);
  }
}

/** A run whose task called others: each of them has two calls of sinks under way and two steps; half of them then asked a person. */
function manyTasks(): MutableRun {
  const start = decideStartRun(undefined, startRun(planOf({ only: {} }, "only")), contextAt(0));
  const [first, ...rest] = start.accepted ? start.events : [];
  if (first === undefined) {
    throw new Error("the start is refused");
  }
  const meta = { atMs: START_MS, number: 1 };
  const run = applyFirst(first, meta, compileRecordedPlan, silentHooks);
  const names = Array.from({ length: CALLED }, (_, number) => `t${number + 1}`);
  applyAll(run, [...rest, leased(0, 1), tasksCalled(0, 1, names)]);
  for (let task = 1; task <= CALLED; task++) {
    const name = `t${task}`;
    applyAll(run, [
      leased(task, 1),
      stepRecorded(task, 1, { name: "a" }),
      stepRecorded(task, 1, { name: "b" }),
      ...[0, 1].map((nth) =>
        declared({ key: `${name}/${nth}`, task }, { operation: 2 * (task - 1) + nth, task }),
      ),
    ]);
    if (task > CALLED / 2) {
      const review = run.reviews.length;
      const { READY, NEEDS_REVIEW } = TaskStatus;
      applyAll(run, [
        ...doubtsOf(run, task),
        reviewOpened({ review, subject: ReviewSubject.TASK, task }),
        attemptFailed(task, 1, { next: NEEDS_REVIEW, review }),
      ]);
      expect(run.tasks[task]?.status).not.toBe(READY);
    }
  }
  return run;
}

function doubtsOf(run: MutableRun, task: number): EventBody[] {
  return run.operations
    .filter((operation) => operation.task === task)
    .map(({ number }) => ({ case: "operationDoubted", value: { operation: number, cause: 1 } }));
}

function applyAll(run: MutableRun, events: readonly EventBody[]): void {
  for (const event of events) {
    apply(run, event, { atMs: START_MS, number: run.eventCount + 1 }, silentHooks);
  }
}

/** How often parts of the run are looked at while it does this; the last event that it recorded first is told. */
function looksAt(run: MutableRun, command: Exclude<Command, StartRun>): [number, string[]] {
  const looks = new Looks();
  const { operations, reviews, steps, unsettled } = run;
  run.operations = looks.at(operations);
  run.reviews = looks.at(reviews);
  run.steps = looks.at(steps);
  run.unsettled = looks.through(unsettled);
  const decision = decide(run, command, contextAt(START_MS));
  const recorded: string[] = [];
  for (
    let events = decision.accepted ? decision.events : [];
    events.length > 0;
    events = decideFollowUp(run)
  ) {
    recorded.push(...events.map((event) => event.case));
    applyAll(run, events);
  }
  const { count } = looks;
  expect(findViolations(run)).toEqual([]);
  return [count, recorded];
}

describe.each([
  ["as events made it", (run: MutableRun) => run],
  ["from its rows", (run: MutableRun) => restoreRun(splitRows(run), compileRecordedPlan)],
])("a run of many tasks with open operations and reviews, %s:", (_, through) => {
  it("the end of a lease looks at the operations of its task alone", () => {
    const run = through(manyTasks());
    const [looks, recorded] = looksAt(run, endLease(1, LeaseEndReason.RETURNED, { task: 7 }));
    expect(recorded).toEqual(["operationDoubted", "operationDoubted", "leaseEnded"]);
    expect(looks).toBeLessThan(READS_MAX);
  });

  it("a task that is not wanted any more looks at its own operations and review alone", () => {
    const run = through(manyTasks());
    const [looks, recorded] = looksAt(run, callTasks(1, [], ["t7", `t${CALLED}`]));
    expect(recorded).toEqual([
      "operationDoubted",
      "operationDoubted",
      "callsCancelled",
      "reviewResolved",
      ...Array.from({ length: 4 }, () => "reviewOpened"), // The sinks of both are to be looked at now.
    ]);
    expect(looks).toBeLessThan(2 * READS_MAX);
  });

  it("a completion looks for open operations among those of its task alone", () => {
    const run = through(manyTasks());
    const [looks, recorded] = looksAt(run, completeTask(1, { task: 7 }));
    expect(recorded).toEqual([]); // Its operations are not settled.
    expect(looks).toBeLessThan(READS_MAX);
  });

  it("the names of what tasks declared are found in one look at each, however many tasks ask", () => {
    const run = through(manyTasks());
    const looks = new Looks();
    run.operations = looks.at(run.operations);
    const told = run.tasks.map(({ number }) => recordedNames(run, number).map(({ name }) => name));
    expect(told.map((names) => names.length)).toEqual([0, ...Array(CALLED).fill(2)]);
    expect(looks.count).toBeLessThanOrEqual(2 * 2 * CALLED); // Once to find whose it is, once to tell it.
  });

  it("the records of a task are read past those of the others", () => {
    const run = through(manyTasks());
    const looks = new Looks();
    run.steps = looks.at(run.steps);
    const page = recordPage(run, 7, 0, 1);
    expect(page.steps.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(recordPage(run, 7, page.steps[0]?.number ?? 0, 1).steps).toHaveLength(1);
    expect(looks.count).toBeLessThan(READS_MAX);
  });
});
