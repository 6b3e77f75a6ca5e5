import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { IntendOperation } from "@pawl/server/core/command.js";
import { nextDeadlineMs } from "@pawl/server/core/deadline.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { plannedSpec } from "@pawl/server/core/plan/tasks-of-run.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import type { Run } from "@pawl/server/core/state.js";
import { describe, expect, it } from "vitest";
import {
  beforeTask,
  callTasks,
  cancelRun,
  completeTask,
  confirmCancel,
  failTask,
  intend,
  observe,
  reconcile,
  recordStep,
  resolveReview,
  retryRun,
  rewindRun,
  terminateRun,
} from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  declared,
  doubted,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedResult,
  reconciled,
  runPaused,
  stepRecorded,
  taskCancelled,
} from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload } from "../support/values.js";

const { CANCELLED, COMPLETED, FAILED, LEASED, NEEDS_REVIEW, READY } = TaskStatus;
const { IN_DOUBT, INTENDED } = OperationStatus;

const UNDO_KEY = "task/default/r1/1/%24rollback%2Fonly/mail/1";
const undo = { operation: "mail", target: "ann@example.org" };
const noted: EventBody = stepRecorded(0, 1, { name: "undo", rollback: undo });
const began = {
  case: "rollbackBegan",
  value: {
    task: 0,
    rollback: {
      name: "$rollback/only",
      kind: "work",
      queue: "work",
      needs: [],
      priority: 0,
      retry: {
        attemptsMax: 0,
        backoffCoefficient: 0,
        nonRetryable: [],
        onExhausted: OnExhausted.ASK,
        workerLossesMax: 0,
      },
      timeouts: { lease: { seconds: 30n, nanos: 0 } },
    },
  },
} satisfies EventBody;
const final = failure({ retryable: false });
const failed: EventBody = attemptFailed(0, 1, { failure: final });

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
/** Of a task that failed after these events. */
const rolling = (...before: readonly EventBody[]): Scenario =>
  held().given(noted, ...before, failed, began, leased(1, 1));
const lookable = declared({ sinkKind: SinkKind.RECONCILABLE });
const inDoubt = (): Scenario => rolling(lookable, doubted());
const by = (parts: Partial<IntendOperation> = {}): IntendOperation =>
  intend(1, "i9", { lease: { task: 1, leaseVersion: 1 }, ...parts });
const undoing = (): IntendOperation => by({ rollback: true });

describe("a rollback", () => {
  it("is recorded like a step, with what is to be done", () => {
    const { state } = held()
      .when(recordStep(1, { name: "undo", rollback: undo }))
      .records(noted)
      .go();
    expect(state.steps[0]?.rollback).toEqual(undo);
  });

  it("begins when its task failed for good, and keeps the run open", () => {
    const { state } = held()
      .given(noted)
      .when(failTask(1, { failure: final }))
      .records(failed)
      .andFollows(began)
      .go();
    expect(state.tasks.map(({ status }) => status)).toEqual([FAILED, READY]);
    expect(state.status).toBe(RunStatus.RUNNING);
  });

  it("does not begin when its task is tried again, or completes", () => {
    const again = held().given(noted).when(failTask(1));
    expect(again.summary()).toBe("attemptFailed");
    const { state } = held().given(noted).when(completeTask(1)).records(completed(0, 1)).go();
    expect(state.status).toBe(RunStatus.COMPLETED);
  });

  it("begins when a cancellation ends its task, at once or with its worker's word", () => {
    const idle = held().given(noted, leaseEnded(0, 1));
    const { state } = idle.when(cancelRun()).records(cancelRequested()).andFollows(began).go();
    expect(state.tasks.map(({ status }) => status)).toEqual([CANCELLED, READY]);
    held()
      .given(noted, cancelRequested())
      .when(confirmCancel(1))
      .records(taskCancelled(0, 1))
      .andFollows(began);
  });

  it("does not begin when a person terminates the run", () => {
    const scenario = held().given(noted);
    const { decision } = scenario.when(terminateRun());
    expect(scenario.commit(decision.accepted ? decision.events : [])).toEqual([]);
    expect(scenario.state.status).toBe(RunStatus.TERMINATED);
  });

  it("ends the run as it would have ended, once it is done", () => {
    const { state } = rolling()
      .when(completeTask(1, { task: 1 }))
      .records(completed(1, 1))
      .go();
    expect(state.tasks[1]?.status).toBe(COMPLETED);
    expect([state.status, state.failure?.cause]).toEqual([RunStatus.FAILED, final]);
  });

  it("that fails for good waits for a person, who says what was not undone", () => {
    const scenario = rolling();
    const says = failure({ retryable: false, kind: "Unknown", message: "no such operation" });
    const { decision } = scenario.when(failTask(1, { task: 1, failure: says }));
    scenario.commit(decision.accepted ? decision.events : []);
    expect(scenario.state.tasks[1]?.status).toBe(NEEDS_REVIEW);
    expect(scenario.state.reviews[0]?.known).toBe(
      'What task "only" did could not be rolled back: Unknown: no such operation',
    );
    expect(scenario.when(resolveReview(ReviewChoice.RETRY)).summary()).toBe("reviewResolved");
  });

  it("is the same after a start from its rows", () => {
    const scenarios = [held().given(noted), held().given(noted, failed, began), rolling()];
    for (const { state } of scenarios) {
      expect(restoreRun(splitRows(state), compileRecordedPlan)).toEqual(state);
    }
  });
});

describe("an intent of what rolls back", () => {
  it("has a key of its own, so what undoes is never taken for what was done", () => {
    const { decision } = rolling().when(undoing());
    expect(decision.accepted && decision.reply.intent).toEqual({
      case: "proceed",
      operationKey: UNDO_KEY,
      callMs: 1000,
    });
  });

  it("is refused under the lease of another task", () => {
    held()
      .when(intend(1, "i1", { rollback: true }))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("reuses what the ended task did, under that task's key", () => {
    rolling(lookable, observedResult())
      .when(by())
      .isExisting()
      .answering({ case: "reuse", operationKey: MAIL_KEY });
  });

  it("does not begin what the ended task had not done", () => {
    rolling().when(by()).isExisting().answering({ case: "heldBack", operationKey: MAIL_KEY });
  });

  it("settles what is in doubt: what turns out to have had no effect is not called any more", () => {
    inDoubt().at(6000).when(by()).isExisting().answering({
      case: "lookUp",
      operationKey: MAIL_KEY,
      notBeforeMs: 0,
    });
    const looked = reconcile(1, "i9", { case: "absent" }, { lease: { task: 1, leaseVersion: 1 } });
    const { state } = inDoubt()
      .at(6000)
      .when(looked)
      .records(reconciled({ case: "absent", value: {} }, INTENDED))
      .answering({ case: "heldBack", operationKey: MAIL_KEY })
      .go();
    expect(state.operations[0]?.status).toBe(INTENDED);
  });

  it("asks a person about what is in doubt before it undoes anything, and goes on when that is settled", () => {
    const scenario = inDoubt().at(6000);
    expect(scenario.state.operations[0]?.status).toBe(IN_DOUBT);
    const when = scenario.when(undoing());
    expect(when.summary()).toBe("reviewOpened leaseEnded: review");
    scenario.commit(when.decision.accepted ? when.decision.events : []);
    expect(scenario.state.tasks[1]?.status).toBe(NEEDS_REVIEW);
    const resolved = scenario.when(resolveReview(ReviewChoice.ABANDON));
    scenario.commit(resolved.decision.accepted ? resolved.decision.events : []);
    expect(scenario.state.tasks[1]?.status).toBe(READY);
    const again = by({ rollback: true, lease: { task: 1, leaseVersion: 2 } });
    expect(
      scenario
        .given(leased(1, 2, { attempt: 1 }))
        .when(again)
        .summary(),
    ).toBe("operationIntended: proceed");
  });

  it("asks nobody about what is in doubt while it may still find out", () => {
    expect(inDoubt().state.orphaned.size).toBe(0);
    const left = rolling(lookable, doubted()).when(completeTask(1, { task: 1 }));
    expect(left.summary()).toBe("PAWL_OPERATIONS_UNSETTLED");
  });
});

describe("in a run that is asked to stop, a rollback", () => {
  it("begins when its function returns in a run that was asked to stop: the run is not done, so nothing of it stays", () => {
    const scenario = held().given(noted, cancelRequested());
    const { decision } = scenario.when(completeTask(1));
    const followed = scenario.commit(decision.accepted ? decision.events : []);
    expect(followed).toEqual([began]);
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([CANCELLED, READY]);
    scenario.when(completeTask(1)).isExisting();
    const nothingNoted = held().given(cancelRequested());
    expect(nothingNoted.when(completeTask(1)).summary()).toBe("taskCompleted");
  });

  it("goes on when its run is asked to stop, beyond the grace", () => {
    const { state } = rolling().when(cancelRun()).records(cancelRequested()).go();
    const [, task] = state.tasks;
    const spec = plannedSpec(state, 1);
    if (task === undefined || spec === undefined) throw new Error("no task 1");
    expect(task.status).toBe(LEASED);
    expect(nextDeadlineMs(state, task, spec)).toBeUndefined();
  });

  it("goes on in a paused run that is asked to stop", () => {
    const heard: string[] = [];
    const hooks = { ...silentHooks, taskReady: (_run: Run, task: number) => heard.push(`${task}`) };
    const scenario = Scenario.started(planOf({ only: {} }, "only"), hooks);
    scenario.given(leased(0, 1), noted, failed, began, runPaused());
    heard.length = 0;
    scenario.given(cancelRequested());
    expect([scenario.state.tasks[1]?.status, heard]).toEqual([READY, ["1"]]);
  });
});

describe("what rolls back", () => {
  it("waits for what another branch has in doubt: that settles it itself", () => {
    const begins = { ...began.value, rollback: { ...began.value.rollback, name: "$rollback/a" } };
    const scenario = Scenario.started(planOf({ a: {}, b: {} })).given(
      ...[leased(0, 1), leased(1, 1), stepRecorded(0, 1, { name: "undo", rollback: undo })],
      ...[declared({ sinkKind: SinkKind.RECONCILABLE, task: 1 }), doubted()],
      ...[
        leaseEnded(1, 1),
        failed,
        { case: "rollbackBegan", value: begins } as const,
        leased(2, 1),
      ],
    );
    scenario
      .when(by({ rollback: true, lease: { task: 2, leaseVersion: 1 } }))
      .isExisting()
      .answering({ case: "wait", operationKey: UNDO_KEY.replace("only", "a"), notBeforeMs: 1_000 });
  });

  it("calls no task", () => {
    rolling()
      .when(callTasks(1, ["other"], [], { task: 1 }))
      .rejects("PAWL_ILLEGAL_TRANSITION");
  });
});

describe("what was rolled back", () => {
  const undone = (): Scenario => {
    const scenario = rolling(
      declared({ sinkKind: SinkKind.RECONCILABLE }),
      observedResult(payload("paid")),
    );
    must(scenario, undoing());
    must(scenario, observe("i9", { case: "result", value: payload("undone") }, UNDO_KEY));
    must(scenario, completeTask(1, { task: 1 }));
    expect(scenario.state.status).toBe(RunStatus.FAILED);
    return scenario;
  };

  it("is not there to be reused: the run neither goes back before it, nor tries it again", () => {
    undone().when(rewindRun(1)).rejects("PAWL_ROLLED_BACK");
    undone()
      .when(rewindRun(beforeTask("only")))
      .rejects("PAWL_ROLLED_BACK");
    undone().when(retryRun()).rejects("PAWL_ROLLED_BACK");
  });

  it("hinders nothing when there was nothing to undo", () => {
    for (const command of [rewindRun(beforeTask("only")), retryRun()]) {
      const scenario = rolling();
      must(scenario, completeTask(1, { task: 1 }));
      must(scenario, command);
      expect(scenario.state.tasks[0]?.status).toBe(READY);
    }
  });
});
