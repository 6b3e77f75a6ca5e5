import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { StartRun } from "@pawl/server/core/command.js";
import { runDeadlineMs } from "@pawl/server/core/deadline.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { explainRun } from "@pawl/server/core/view/why.js";
import { describe, expect, it } from "vitest";
import {
  confirmCancel,
  continueRun,
  rewindRun,
  startRun,
  terminateRun,
} from "../support/commands.js";
import {
  cancelRequested,
  completed,
  leased,
  runClosed,
  runContinued,
  runFaulted,
  runPaused,
  runTimedOut,
  stepRecorded,
  suspended,
  taskCancelled,
  timerDeclared,
} from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, START_MS } from "../support/values.js";

const expire = { kind: "ExpireRun" } as const;
const plan = planOf({ only: {} }, "only");

/** A run that may take 1 s. */
function bounded(parts: Partial<StartRun> = { runTimeoutMs: 1000 }): Scenario {
  const scenario = Scenario.empty();
  const { decision } = scenario.when(startRun(plan, parts));
  scenario.commit(decision.accepted ? decision.events : []);
  return scenario;
}

const timedOut = {
  kind: "TimedOut",
  code: "PAWL_RUN_TIMED_OUT",
  message: "It took longer than its run timeout of 1 s.",
  retryable: false,
};

describe("a run whose timeout is over", () => {
  it("is stopped, and has failed when nothing of it is open any more", () => {
    const scenario = bounded();
    const { followed } = scenario.at(1000).when(expire).records(runTimedOut());
    expect(followed).toMatchObject([
      { case: "runClosed", value: { status: RunStatus.FAILED, failure: timedOut } },
    ]);
    expect(scenario.state).toMatchObject({ status: RunStatus.FAILED, failure: timedOut });
    expect(scenario.state.tasks).toMatchObject([{ status: TaskStatus.CANCELLED }]);
    expect(runDeadlineMs(scenario.state)).toBeUndefined();
  });

  it("is not stopped before, and only once", () => {
    const scenario = bounded().at(999);
    scenario.when(expire).isExisting();
    scenario.at(1000).given(leased(0, 1));
    scenario.when(expire).records(runTimedOut());
    scenario.when(expire).isExisting();
  });

  it("gives what runs its grace, and fails whatever that says", () => {
    for (const end of [completed(0, 1), taskCancelled(0, 1)]) {
      const scenario = bounded().given(leased(0, 1)).at(2000);
      scenario.when(expire).records(runTimedOut());
      expect(scenario.state.tasks).toMatchObject([{ status: TaskStatus.LEASED }]);
      expect(scenario.commit([end])).toMatchObject([
        { case: "runClosed", value: { status: RunStatus.FAILED, failure: timedOut } },
      ]);
    }
    const scenario = bounded().given(leased(0, 1)).at(2000);
    scenario.when(expire).records(runTimedOut());
    expect(scenario.when(confirmCancel(1, { failure: failure() })).summary()).toBe("taskCancelled");
  });

  it("fails whatever it waits for, also while it is paused", () => {
    const waiting = suspended(0, 1, { opened: [timerDeclared()], waits: [0] });
    const scenario = bounded().given(leased(0, 1), waiting, runPaused());
    expect(runDeadlineMs(scenario.state)).toBe(START_MS + 1000);
    scenario.at(1000).when(expire).records(runTimedOut());
    expect(scenario.state).toMatchObject({ status: RunStatus.FAILED, pause: undefined });
  });

  it("is rolled back before it has failed", () => {
    const undo = stepRecorded(0, 1, { rollback: { operation: "mail", target: "a" } });
    const waiting = suspended(0, 1, { opened: [timerDeclared()], waits: [0] });
    const scenario = bounded().given(leased(0, 1), undo, waiting).at(1000);
    const { followed } = scenario.when(expire).records(runTimedOut());
    expect(followed).toMatchObject([{ case: "rollbackBegan" }]);
    expect(scenario.state.status).toBe(RunStatus.RUNNING);
    const ended = scenario.given(leased(1, 1)).commit([completed(1, 1)]);
    expect(ended).toMatchObject([{ case: "runClosed", value: { failure: timedOut } }]);
  });
});

describe("the deadline of a run", () => {
  it("does nothing to one that was asked to stop before, is set aside, or is over", () => {
    const stopping = bounded().given(leased(0, 1), cancelRequested());
    const aside = bounded().given(runFaulted());
    const over = bounded();
    over.commit([runClosed(RunStatus.TERMINATED)]);
    for (const scenario of [stopping, aside, over, bounded({})]) {
      expect(runDeadlineMs(scenario.state)).toBeUndefined();
      scenario.at(5000).when(expire).isExisting();
    }
  });

  it("is its own, or its parent's when that is earlier", () => {
    const at = (parts: Partial<StartRun>): unknown => bounded(parts).state.deadline;
    const parentMs = START_MS + 500;
    expect(at({ runTimeoutMs: 1000, deadlineMs: parentMs })).toEqual({
      ...{ atMs: parentMs, timeoutMs: 1000, ofParent: true },
    });
    expect(at({ deadlineMs: parentMs })).toMatchObject({ atMs: parentMs, timeoutMs: 0 });
    expect(at({ runTimeoutMs: 100, deadlineMs: parentMs })).toEqual({
      ...{ atMs: START_MS + 100, timeoutMs: 100, ofParent: false },
    });
    expect(at({})).toBeUndefined();
  });

  it("stays through all incarnations that its function begins", () => {
    const scenario = bounded().given(leased(0, 1)).at(900);
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(runDeadlineMs(scenario.state)).toBe(START_MS + 1000);
    scenario.at(1000).when(expire).records(runTimedOut());
  });

  it("is another when a start begins the run once more", () => {
    const scenario = bounded();
    scenario.commit([runClosed(RunStatus.TERMINATED)]);
    const policy = { onExisting: OnExisting.RESTART_CLOSED, requestId: "q" };
    const { decision } = scenario.at(5000).when(startRun(plan, { ...policy, runTimeoutMs: 50 }));
    scenario.commit(decision.accepted ? decision.events : []);
    expect(runDeadlineMs(scenario.state)).toBe(START_MS + 5050);
  });

  it("is what its rows say, also after it has passed", () => {
    const scenario = bounded().given(leased(0, 1));
    const restored = (): unknown => restoreRun(splitRows(scenario.state), compileRecordedPlan);
    expect(restored()).toEqual(scenario.state);
    scenario.at(1000).when(expire).records(runTimedOut());
    expect(restored()).toEqual(scenario.state);
  });
});

describe("why a run is not finished", () => {
  const why = (scenario: Scenario, ms: number): string =>
    explainRun(scenario.state, { nowMs: START_MS + ms });

  it("says when its timeout ends it, and then that it has", () => {
    const scenario = bounded().given(leased(0, 1));
    expect(why(scenario, 400)).toMatch(/\. Its run timeout ends it in 600 ms\.$/);
    expect(why(scenario, 1001)).toMatch(
      / Its run timeout is over, and it is about to be stopped\.$/,
    );
    scenario.at(1000).when(expire).records(runTimedOut());
    expect(why(scenario, 1000)).toBe(
      'It is being stopped. It took longer than its run timeout of 1 s. Task "only" was told to stop, and worker "w1" may still clean up.',
    );
    scenario.at(3000).commit([taskCancelled(0, 1)]);
    expect(why(scenario, 9000)).toBe(
      "It failed because its time was over. It took longer than its run timeout of 1 s. What was open of it had ended 2 s later.",
    );
  });

  it("says nothing of a timeout once somebody has ended it", () => {
    const scenario = bounded();
    expect(scenario.when(terminateRun()).summary()).toBe("runClosed");
    scenario.commit([runClosed(RunStatus.TERMINATED)]);
    expect(why(scenario, 100)).not.toContain("timeout");
  });
});

describe("a run that goes back", () => {
  it("after its end has all of its timeout again", () => {
    const scenario = bounded();
    scenario.at(1000).when(expire).records(runTimedOut());
    must(scenario.at(5000), rewindRun(1));
    expect(scenario.state).toMatchObject({ status: RunStatus.RUNNING, timedOut: false });
    expect(runDeadlineMs(scenario.state)).toBe(START_MS + 6000);
    scenario.at(5999).when(expire).isExisting();
    scenario.at(6000).when(expire).records(runTimedOut());
  });

  it("while it is open keeps its deadline", () => {
    const scenario = bounded().given(leased(0, 1));
    must(scenario.at(400), rewindRun(1));
    expect(runDeadlineMs(scenario.state)).toBe(START_MS + 1000);
  });
});
