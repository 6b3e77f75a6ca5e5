import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ApplyHooks } from "@pawl/server/core/apply/hooks.js";
import { describe, expect, it } from "vitest";
import { completeTask, fireDeadline, leaseTask } from "./support/commands.js";
import {
  attemptFailed,
  completed,
  leased,
  reviewOpened,
  reviewResolved,
  runFaulted,
} from "./support/events.js";
import { planOf } from "./support/plans.js";
import { Scenario } from "./support/scenario.js";
import { START_MS } from "./support/values.js";

const about = { subject: ReviewSubject.RUN };

/** A run with a READY, a leased, a backing-off, a completed and a blocked task; `heard` collects what apply announces. */
function faulted(heard: string[]): Scenario {
  const hooks: ApplyHooks = {
    taskReady: (_run, task) => heard.push(`ready ${task}`),
    taskMoved: (_run, task) => heard.push(`moved ${task}`),
    leaseOver: () => undefined,
    cancelAsked: () => undefined,
    outcomeCame: () => undefined,
    proposalMoved: () => undefined,
    obliged: () => undefined,

    deadlineMoved: () => undefined,
    runClosed: () => undefined,
  };
  const plan = planOf({ ready: {}, held: {}, backoff: {}, done: {}, blocked: { needs: ["held"] } });
  const scenario = Scenario.started(plan, hooks).given(
    leased(1, 1),
    leased(2, 1),
    attemptFailed(2, 1, { next: TaskStatus.BACKOFF, readyAtMs: START_MS + 1000 }),
    leased(3, 1),
    completed(3, 1),
    runFaulted(),
    reviewOpened(about),
  );
  heard.length = 0;
  return scenario;
}

describe("a run that is set aside", () => {
  it("offers nothing, and no deadline acts, but reports are taken", () => {
    const scenario = faulted([]);
    scenario.when(leaseTask(0)).rejects("PAWL_RUN_OVER");
    scenario.at(9000).when(fireDeadline(2)).isExisting();
    scenario.when(completeTask(1, { task: 1 })).records(completed(1, 1));
  });

  it("announces its open tasks again when a person lets it go on", () => {
    const heard: string[] = [];
    faulted(heard).given(reviewResolved(ReviewChoice.RETRY));
    expect(heard).toEqual(["moved 0", "ready 0", "moved 1", "moved 2", "moved 4"]);
  });

  it("goes on where it was", () => {
    const scenario = faulted([]).given(reviewResolved(ReviewChoice.RETRY)).at(9000);
    expect(scenario.when(fireDeadline(2)).summary()).toBe("taskReady");
    expect(scenario.when(leaseTask(0)).summary()).toBe("taskLeased");
  });
});
