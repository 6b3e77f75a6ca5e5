import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import { limits } from "@pawl/server/core/limits.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { describe, expect, it } from "vitest";
import {
  callTasks,
  cancelRun,
  completeTask,
  declareWaits,
  fireDeadline,
  suspend,
  timer,
} from "../support/commands.js";
import {
  attemptFailed,
  calledTask,
  callsAbandoned,
  callsCancelled,
  callsStopping,
  cancelRequested,
  completed,
  declaration,
  intended,
  leased,
  runClosed,
  suspended,
  taskCancelled,
  tasksCalled,
  timerDeclared,
  waitEnded,
  waitsOpened,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

const { CANCELLED, FAILED, LEASED, READY } = TaskStatus;
const DONE = RunStatus.COMPLETED;

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
const calling = (...names: readonly string[]): Scenario => held().given(tasksCalled(0, 1, names));
/** Waits without a lease for the tasks that it called. */
const waiting = (...names: readonly string[]): Scenario =>
  calling(...names).given(suspended(0, 1, { opened: [], waits: [], seenThrough: 3 }));

describe("a call", () => {
  it("adds tasks that any worker may take, with their own input, and keeps the lease", () => {
    const { state } = held()
      .when(callTasks(1, ["a", "b"]))
      .records(tasksCalled(0, 1, ["a", "b"]))
      .go();
    expect(state.tasks.map(({ status, caller }) => [status, caller])).toEqual([
      [LEASED, undefined],
      [READY, 0],
      [READY, 0],
    ]);
    expect(state.openTasks).toBe(3);
  });

  it("that was recorded is answered existing, also after the lease", () => {
    calling("a")
      .when(callTasks(1, ["a"]))
      .isExisting();
    waiting("a")
      .when(callTasks(1, ["a"]))
      .isExisting();
  });

  it("of the same name with another input, kind or queue is refused, and so is the name of a task of the plan", () => {
    const other = { ...calledTask("a"), input: payload("other") };
    calling("a")
      .when(callTasks(1, [other]))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
    calling("a")
      .when(callTasks(1, [{ ...calledTask("a"), kind: "k2" }]))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
    calling("a")
      .when(callTasks(1, [{ ...calledTask("a"), queue: "q2" }]))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
    held()
      .when(callTasks(1, ["only"]))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("by an older lease is refused", () => {
    waiting("a")
      .when(callTasks(1, ["b"]))
      .rejects("PAWL_LEASE_LOST");
  });

  it("in a run that was asked to stop is refused", () => {
    held()
      .given(cancelRequested())
      .when(callTasks(1, ["a"]))
      .rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("that needs a task is refused by its place", () => {
    const needy = { ...calledTask("a"), needs: ["only"] };
    held()
      .when(callTasks(1, ["b", needy]))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("beyond the bound of a run is refused, and one up to it is not", () => {
    const full = calling("a");
    const { state } = full;
    state.called.length = limits.calledTasksMax - 1;
    full.when(callTasks(1, ["x", "y"])).rejects("PAWL_TOO_LARGE");
    expect(full.when(callTasks(1, ["x"])).summary()).toBe("tasksCalled");
  });

  it("with much content is recorded in several events, none of which is large", () => {
    const large = ["a", "b", "c", "d", "e"].map((name) => ({
      ...calledTask(name),
      input: new Uint8Array(32_000),
    }));
    held()
      .when(callTasks(1, large))
      .records(tasksCalled(0, 1, large.slice(0, 4)), tasksCalled(0, 1, large.slice(4)));
  });
});

describe("a called task that ends", () => {
  it("wakes a caller that waits without a lease", () => {
    const scenario = waiting("a", "b").given(leased(1, 1), completed(1, 1));
    expect(scenario.state.tasks[0]).toMatchObject({ status: READY });
    expect(scenario.state.tasks[0]?.calls?.ended).toEqual([1]);
  });

  it("for good wakes it as well, and fails neither the caller nor the run", () => {
    const scenario = waiting("a").given(leased(1, 1), attemptFailed(1, 1, { next: FAILED }));
    expect(scenario.state).toMatchObject({ failedTasks: 0, status: RunStatus.RUNNING });
    expect(scenario.state.tasks[0]).toMatchObject({ status: READY });
    const output = completed(0, 2);
    scenario
      .given(leased(0, 2, { attempt: 1 }))
      .when(completeTask(2))
      .records({ ...output, value: { ...output.value, attempt: 1 } })
      .andFollows(runClosed(DONE));
  });

  it("beyond what the code has seen lets no suspension sleep", () => {
    const seen = (): Scenario => calling("a").given(leased(1, 1), completed(1, 1));
    seen()
      .when(suspend(1, { waits: [timer()], seenThrough: 4 }))
      .records(suspended(0, 1, { seenThrough: 4, next: READY }));
    seen()
      .when(suspend(1, { waits: [timer()], seenThrough: 5 }))
      .records(suspended(0, 1, { seenThrough: 5 }));
  });

  it("leaves nothing to wait for when it was the last", () => {
    const seen = calling("a").given(leased(1, 1), completed(1, 1));
    seen.when(suspend(1, { waits: [], seenThrough: 5 })).rejects("PAWL_INVALID_FIELD");
  });
});

describe("what nobody waits for any more", () => {
  it("is cancelled when the caller says so, and only what is open and its own", () => {
    const scenario = calling("a", "b", "c").given(leased(1, 1), completed(1, 1), leased(2, 1));
    scenario
      .when(callTasks(1, [], ["a", "b", "b", "nobody", "only"]))
      .records(callsCancelled(0, [2]))
      .go();
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([
      LEASED,
      TaskStatus.COMPLETED,
      CANCELLED,
      READY,
    ]);
    expect(scenario.state.tasks[2]).toMatchObject({ sessionId: "" });
    scenario.when(callTasks(1, [], ["a", "b"])).isExisting();
  });

  it("is cancelled in the order of the calls, as rows give it again", () => {
    const { state } = calling("a", "b", "c")
      .when(callTasks(1, [], ["c", "a"]))
      .records(callsCancelled(0, [1, 3]))
      .go();
    expect(state.tasks[0]?.calls?.ended).toEqual([1, 3]);
    expect(restoreRun(splitRows(state), compileRecordedPlan)).toEqual(state);
  });

  it("ends when its caller has ended, before the run does", () => {
    calling("a", "b")
      .when(completeTask(1))
      .records(completed(0, 1))
      .andFollows(callsCancelled(0, [1, 2]), runClosed(DONE));
  });

  it("leaves the outcome of its open call in doubt, which a person is asked about", () => {
    const scenario = calling("a").given(
      leased(1, 1),
      intended({ declaration: declaration({ task: 1 }), task: 1 }),
    );
    const events = scenario.commit([completed(0, 1)]).map((event) => event.case);
    expect(events).toEqual(["operationDoubted", "callsCancelled", "runClosed", "reviewOpened"]);
  });

  it("ends with a run that is asked to stop", () => {
    const scenario = waiting("a", "b").given(leased(1, 1));
    scenario.when(cancelRun()).records(cancelRequested());
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([
      CANCELLED,
      LEASED,
      CANCELLED,
    ]);
  });
});

describe("a call that is asked to stop", () => {
  const stops = (...names: readonly string[]) =>
    callTasks(1, [], [], { stops: names.map((name) => ({ name, reason: "enough" })) });

  it("ends at once when nobody holds it; a worker that does is told, and keeps its grace", () => {
    const scenario = calling("a", "b").given(leased(1, 1));
    scenario
      .when(stops("a", "b", "nobody"))
      .records(callsStopping(0, [1, 2], "enough"))
      .go();
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([LEASED, LEASED, CANCELLED]);
    expect(restoreRun(splitRows(scenario.state), compileRecordedPlan)).toEqual(scenario.state);
    scenario.when(stops("a", "b")).isExisting();
  });

  it("ends as it says: it may complete all the same, or fail because it stopped", () => {
    const stopping = (): Scenario =>
      calling("a")
        .given(leased(1, 1))
        .given(callsStopping(0, [1], "enough"));
    stopping()
      .when(completeTask(1, { task: 1 }))
      .records(completed(1, 1));
    const stopped = stopping().given(taskCancelled(1, 1));
    expect(stopped.state.tasks[1]?.status).toBe(CANCELLED);
    expect(stopped.state.tasks[0]?.calls?.ended).toEqual([1]);
  });

  it("ends when its grace is over", () => {
    const scenario = calling("a").given(leased(1, 1), callsStopping(0, [1], "enough"));
    scenario
      .at(limits.cancelGraceMsDefault - 1)
      .when(fireDeadline(1))
      .isExisting();
    const due = scenario.at(limits.cancelGraceMsDefault).when(fireDeadline(1)).decision;
    scenario.commit(due.accepted ? due.events : []);
    expect(scenario.state.tasks[1]?.status).toBe(CANCELLED);
  });

  it("keeps its grace when its caller ends, and the run ends after it", () => {
    const scenario = calling("a").given(leased(1, 1), callsStopping(0, [1], "enough"));
    scenario.when(completeTask(1)).records(completed(0, 1)).andFollows();
    expect(scenario.state.status).toBe(RunStatus.RUNNING);
    scenario
      .when(completeTask(1, { task: 1 }))
      .records(completed(1, 1))
      .andFollows(runClosed(DONE));
  });
});

describe("a call that is let go", () => {
  it("goes on when its caller ends, and the run ends after it, whatever became of it", () => {
    const scenario = calling("a", "b");
    scenario
      .when(callTasks(1, [], [], { abandons: ["a", "nobody"] }))
      .records(callsAbandoned(0, [1]))
      .go();
    scenario.when(callTasks(1, [], [], { abandons: ["a"] })).isExisting();
    expect(restoreRun(splitRows(scenario.state), compileRecordedPlan)).toEqual(scenario.state);
    scenario
      .when(completeTask(1))
      .records(completed(0, 1))
      .andFollows(callsCancelled(0, [2]));
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([
      TaskStatus.COMPLETED,
      READY,
      CANCELLED,
    ]);
    const events = scenario.given(leased(1, 1)).commit([attemptFailed(1, 1, { next: FAILED })]);
    expect(events.map((event) => event.case)).toEqual(["runClosed"]);
    expect(scenario.state.status).toBe(DONE);
  });

  it("ends with a run that is asked to stop", () => {
    const scenario = calling("a").given(callsAbandoned(0, [1]));
    scenario.when(cancelRun()).records(cancelRequested());
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([LEASED, CANCELLED]);
  });
});

describe("a wait that begins while the lease stays", () => {
  it("is open, and ends without moving the task", () => {
    const { state } = held()
      .when(declareWaits(1, [timer(1000)]))
      .records(waitsOpened(0, 1, [timerDeclared()]))
      .go();
    expect(state.tasks[0]).toMatchObject({ status: LEASED, openWaits: [0] });
    const ended = held()
      .given(waitsOpened(0, 1, [timerDeclared()]))
      .at(1000)
      .given(waitEnded(0, 0));
    expect(ended.state.tasks[0]).toMatchObject({ status: LEASED, openWaits: [] });
    ended
      .when(suspend(1, { waits: [timer(1000)], seenThrough: 3 }))
      .records(suspended(0, 1, { opened: [], waits: [0], seenThrough: 3, next: READY }));
  });

  it("for a time that has passed ends at once", () => {
    held()
      .when(declareWaits(1, [timer(0)]))
      .records(waitsOpened(0, 1, [timerDeclared({ dueAtMs: START_MS })]), waitEnded(0, 0));
  });

  it("keeps its time when a suspension names it again", () => {
    held()
      .given(waitsOpened(0, 1, [timerDeclared()]))
      .at(500)
      .when(suspend(1, { waits: [timer(1000)], seenThrough: 3 }))
      .records(suspended(0, 1, { opened: [], waits: [0], seenThrough: 3 }));
  });

  it("again is existing; under the name of another it is refused", () => {
    const open = held().given(waitsOpened(0, 1, [timerDeclared()]));
    open.when(declareWaits(1, [timer(5)])).isExisting();
    const signal = {
      name: "pause",
      key: undefined,
      subject: { case: "signal", signal: "go", timeoutMs: undefined },
    } as const;
    open.when(declareWaits(1, [signal])).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("by an older lease is refused", () => {
    Scenario.ofOne()
      .given(leased(0, 1), suspended(0, 1))
      .when(declareWaits(1, [timer(1, { name: "other" })]))
      .rejects("PAWL_LEASE_LOST");
  });
});

describe("the rows of a run with called tasks", () => {
  it("give the same state", () => {
    const scenario = calling("a", "b", "c").given(
      leased(2, 1),
      completed(2, 1),
      leased(1, 1),
      attemptFailed(1, 1, { next: FAILED }),
    );
    expect(restoreRun(splitRows(scenario.state), compileRecordedPlan)).toEqual(scenario.state);
  });

  it("are all needed", () => {
    const rows = splitRows(calling("a").state);
    const lost = { ...rows, tasks: rows.tasks.slice(0, 1) };
    expect(() => restoreRun(lost, compileRecordedPlan)).toThrow("rows of called tasks");
  });
});
