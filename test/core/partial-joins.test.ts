import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { RecoveryClassSchema } from "@pawl/proto/v1/recovery_pb.js";
import { inputNeeds } from "@pawl/server/core/joins.js";
import { RankQueue } from "@pawl/server/core/rank-queue.js";
import { runStatusName, taskStatusName } from "@pawl/server/core/transitions.js";
import { explainRun, explainWait } from "@pawl/server/core/view/why.js";
import { describe, expect, it } from "vitest";
import { attemptFailed, completed, leased, leaseEnded } from "./support/events.js";
import { planOf, type TaskParts } from "./support/plans.js";
import { reportLines } from "./support/report.js";
import { Scenario } from "./support/scenario.js";
import { failure, START_MS } from "./support/values.js";

const { CONTINUE, FAIL, SKIP } = OnNeedFailure;

/** A scenario in which tasks are told of by name. */
class Named {
  readonly scenario: Scenario;
  constructor(tasks: Readonly<Record<string, TaskParts>>, output = "") {
    this.scenario = Scenario.started(planOf(tasks, output));
  }

  number(name: string): number {
    return this.scenario.state.plan.byName.get(name) ?? -1;
  }

  /** Attempts complete, one after the other. */
  complete(...names: readonly string[]): this {
    for (const name of names) {
      const task = this.number(name);
      this.scenario.given(leased(task, 1));
      this.scenario.commit([completed(task, 1)]);
    }
    return this;
  }

  /** Attempts fail for good. */
  fail(...names: readonly string[]): this {
    for (const name of names) {
      const task = this.number(name);
      this.scenario.given(leased(task, 1));
      this.scenario.commit([attemptFailed(task, 1)]);
    }
    return this;
  }

  status(name: string): string {
    return taskStatusName(this.scenario.state.tasks[this.number(name)]?.status ?? 0);
  }

  get runStatus(): string {
    return runStatusName(this.scenario.state.status);
  }

  /** Names of what a task gets as input of its needs. */
  inputs(name: string): string[] {
    const { state } = this.scenario;
    const number = this.number(name);
    const task = state.tasks[number];
    const spec = state.plan.tasks[number];
    if (task === undefined || spec === undefined) throw new Error(`no task ${name}`);
    return inputNeeds(state, task, spec).map((need) => state.plan.tasks[need]?.name ?? "?");
  }

  waitsFor(name: string): string {
    return explainWait(this.scenario.state, this.number(name), { nowMs: START_MS });
  }

  why(): string {
    return explainRun(this.scenario.state, { nowMs: START_MS });
  }

  report(name: string): string {
    const line = reportLines({ events: this.scenario.events }).find(({ task }) => task === name);
    return `${RecoveryClassSchema.value[line?.class ?? 0]?.localName}: ${line?.sentence}`;
  }
}

const five = { a: {}, b: {}, c: {}, d: {}, e: {} };
const all = ["a", "b", "c", "d", "e"];

describe("a task that needs at least some of others", () => {
  it("is READY in the commit of the one that makes them enough, and takes no later one in", () => {
    const run = new Named({ ...five, merge: { needs: all, join: { atLeast: 3 } } }, "merge");
    run.complete("e", "b");
    expect(run.status("merge")).toBe("BLOCKED");
    expect(run.waitsFor("merge")).toBe(
      'Task "merge" needs 1 more of 3 to complete: "a", "c", "d".',
    );
    run.complete("c");
    expect(run.status("merge")).toBe("READY");
    expect(run.inputs("merge")).toEqual(["b", "c", "e"]);
    run.complete("a");
    expect(run.inputs("merge")).toEqual(["b", "c", "e"]);
  });

  it("has the same inputs in its next attempt, whatever ended meanwhile", () => {
    const run = new Named({ a: {}, b: {}, any: { needs: ["a", "b"], join: { atLeast: 1 } } });
    run.complete("b");
    const task = run.number("any");
    run.scenario.given(leased(task, 1));
    run.complete("a");
    run.scenario.commit([leaseEnded(task, 1)]);
    run.scenario.given(leased(task, 2, { attempt: 1 }));
    expect(run.inputs("any")).toEqual(["b"]);
  });

  it("is SKIPPED as soon as too few are left, and not before", () => {
    const run = new Named({ ...five, merge: { needs: all, join: { atLeast: 3 } } });
    run.fail("a", "d");
    expect(run.status("merge")).toBe("BLOCKED");
    expect(run.waitsFor("merge")).toBe('Task "merge" waits until "b", "c", "e" complete.');
    run.fail("c");
    expect(run.status("merge")).toBe("SKIPPED");
    expect(run.report("merge")).toBe(
      "SKIPPED: It never ran, because fewer than 3 of the 5 tasks it needs could complete.",
    );
    run.complete("b", "e");
    expect(run.runStatus).toBe("FAILED");
  });

  it("is FAILED then when one that is lost is to fail it", () => {
    const run = new Named({
      ...five,
      merge: { needs: all, join: { atLeast: 4, rules: { d: FAIL } } },
      after: { needs: ["merge"] },
    });
    run.fail("a");
    expect(run.status("merge")).toBe("BLOCKED");
    run.fail("d");
    expect([run.status("merge"), run.status("after")]).toEqual(["FAILED", "SKIPPED"]);
    expect(run.scenario.state.tasks[run.number("merge")]?.failure).toEqual({
      kind: "DependencyFailed",
      code: "PAWL_DEPENDENCY_FAILED",
      message: 'Task "d", which it needs, is FAILED.',
      stack: "",
      retryable: false,
      origin: 3,
      cause: failure(),
    });
    expect(run.report("merge")).toBe(
      'SKIPPED: It never ran, and failed: Task "d", which it needs, is FAILED.',
    );
  });

  it("counts a failure over which it goes on like a completion", () => {
    const run = new Named({
      ...five,
      merge: { needs: all, join: { atLeast: 2, rules: { a: CONTINUE } } },
    });
    run.fail("b", "a").complete("c");
    expect(run.status("merge")).toBe("READY");
    expect(run.inputs("merge")).toEqual(["a", "b", "c"]);
  });
});

describe("a task that goes on over a failure", () => {
  it("is READY when all have ended, also skipped ones, and the run completes", () => {
    const run = new Named(
      {
        work: {},
        second: { needs: ["work"] },
        tidy: {
          needs: ["work", "second"],
          join: { rules: { work: CONTINUE, second: CONTINUE } },
        },
      },
      "tidy",
    );
    expect(run.waitsFor("tidy")).toBe('Task "tidy" waits until "work", "second" end.');
    run.fail("work");
    expect([run.status("second"), run.status("tidy")]).toEqual(["SKIPPED", "READY"]);
    expect(run.inputs("tidy")).toEqual(["work", "second"]);
    run.complete("tidy");
    expect(run.runStatus).toBe("COMPLETED");
    expect(run.why()).toMatch(
      /^It completed after .+: 1 of 3 tasks did their work, and its plan goes on without the others\.$/,
    );
    expect(run.report("tidy")).toBe(
      'UNTOUCHED: It ran once and is COMPLETED. It went on although "work", "second" did not complete, as its plan says.',
    );
  });

  it("does not save a run whose output did not come", () => {
    const run = new Named(
      { work: {}, tidy: { needs: ["work"], join: { rules: { work: CONTINUE } } } },
      "work",
    );
    run.fail("work").complete("tidy");
    expect(run.runStatus).toBe("FAILED");
    expect(run.scenario.state.failure).toMatchObject({ message: 'Task "work" failed for good.' });
  });

  it("does not save a run in which the failure also skipped what nobody took up", () => {
    const run = new Named({
      work: {},
      tidy: { needs: ["work"], join: { rules: { work: CONTINUE } } },
      publish: { needs: ["work"] },
    });
    run.fail("work").complete("tidy");
    expect(run.runStatus).toBe("FAILED");
    expect(run.why()).toMatch(/^Task "work" failed for good .+ 1 task that needed it never ran\.$/);
  });

  it("fails the run by its own failure", () => {
    const run = new Named({
      work: {},
      tidy: { needs: ["work"], join: { rules: { work: CONTINUE } } },
    });
    run.fail("work", "tidy");
    expect(run.runStatus).toBe("FAILED");
    expect(run.scenario.state.failure).toMatchObject({ message: 'Task "tidy" failed for good.' });
  });
});

describe("the ends of one event", () => {
  // "left" and "right" both end with "top"; the one skips what is lost, the other fails it.
  const both = (order: readonly string[]): Named => {
    const parts: Record<string, TaskParts> = {
      top: {},
      left: { needs: ["top"] },
      right: { needs: ["top"] },
      last: { needs: ["left", "right"], join: { rules: { left: SKIP, right: FAIL } } },
    };
    return new Named(Object.fromEntries(order.map((name) => [name, parts[name] ?? {}])));
  };

  it.each([
    [["top", "left", "right", "last"]],
    [["last", "right", "left", "top"]],
    [["right", "last", "top", "left"]],
  ])("count together, in whatever order the plan names them: %s", (order) => {
    const run = both(order);
    run.fail("top");
    expect(run.status("last")).toBe("FAILED");
  });

  it("reach down a chain of 5,000 tasks with one cause at its end", () => {
    const chain = Array.from({ length: 5000 }, (_, number): [string, TaskParts] => [
      `t${number}`,
      number === 0
        ? {}
        : { needs: [`t${number - 1}`], join: { rules: { [`t${number - 1}`]: FAIL } } },
    ]);
    const scenario = Scenario.started(planOf(Object.fromEntries(chain)));
    scenario.given(leased(0, 1));
    scenario.commit([attemptFailed(0, 1)]);
    expect(scenario.state.tasks[4999]?.failure).toMatchObject({
      message: 'Task "t4998", which it needs, is FAILED.',
      cause: failure(),
    });
    expect(scenario.state.tasks[4999]?.failure?.cause?.cause).toBeUndefined();
  });
});

describe("the queue by rank", () => {
  it("hands out the lowest rank first, whatever came in which order", () => {
    const ranks = [5, 3, 9, 1, 7, 0];
    const queue = new RankQueue(ranks);
    for (const number of [0, 1, 2, 3, 4, 5, 3]) {
      queue.add(number);
    }
    const taken = Array.from({ length: 8 }, () => queue.take());
    expect(taken).toEqual([5, 3, 3, 1, 0, 4, 2, undefined]);
  });
});
