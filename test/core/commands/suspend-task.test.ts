import { TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  completeTask,
  fireDeadline,
  leaseTask,
  suspend,
  timer,
} from "../support/commands.js";
import {
  cancelRequested,
  completed,
  declared,
  doubted,
  inputDeclared,
  leased,
  leaseEnded,
  runClosed,
  suspended,
  timedOut,
  timerDeclared,
  waitEnded,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

const { CANCELLED, READY, SUSPENDED } = TaskStatus;

const held = (parts: Parameters<typeof Scenario.ofOne>[0] = {}): Scenario =>
  Scenario.ofOne(parts).given(leased(0, 1));
const waiting = (parts: Parameters<typeof Scenario.ofOne>[0] = {}): Scenario =>
  held(parts).given(suspended(0, 1));
/** Held again under lease 2 after the timer fired with event 4. */
const resumed = (): Scenario =>
  waiting()
    .at(1000)
    .given(waitEnded(0, 0), leased(0, 2, { attempt: 1 }));

describe("a suspension", () => {
  it("frees the lease and uses no attempt", () => {
    const { state } = held()
      .when(suspend(1, { seenThrough: 2, progress: payload("half") }))
      .records(suspended(0, 1, { seenThrough: 2, progress: payload("half") }))
      .go();
    expect(state.tasks[0]).toMatchObject({
      status: SUSPENDED,
      sessionId: "",
      attempt: 1,
      usedAttempts: 0,
      suspensions: 1,
      progress: payload("half"),
      openWaits: [0],
    });
  });

  it("is no attempt to go on from: the next lease has the same attempt", () => {
    waiting()
      .at(1000)
      .given(waitEnded(0, 0))
      .when(leaseTask(0))
      .records(leased(0, 2, { attempt: 1 }));
  });

  it("says `existing` when it is sent again, also after the task was woken", () => {
    waiting().when(suspend(1)).isExisting();
    waiting().at(1000).given(waitEnded(0, 0)).when(suspend(1)).isExisting();
  });

  it("is refused when the same lease was suspended with other waits", () => {
    waiting()
      .when(suspend(1, { waits: [timer(1000, { name: "another" })] }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it.each([
    ["another lease holds the task", resumed(), 1],
    ["it was given back", held().given(leaseEnded(0, 1)), 1],
    ["it was never leased", Scenario.ofOne(), 0],
    ["it has completed", held().given(completed(0, 1)), 1],
  ] as const)("is refused when %s", (_, scenario, leaseVersion) => {
    scenario.when(suspend(leaseVersion)).rejects("PAWL_LEASE_LOST");
  });

  it("is refused for a task that the run does not have", () => {
    held()
      .when(suspend(1, { task: "none" }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });

  it("makes a call that was under way unknown", () => {
    held().given(declared()).when(suspend(1)).records(doubted(), suspended(0, 1));
  });

  it("ends the task when its run was asked to stop, and opens nothing", () => {
    const { state } = held()
      .given(cancelRequested())
      .when(suspend(1))
      .records(suspended(0, 1, { opened: [], waits: [], next: CANCELLED }))
      .go();
    expect(state.waits).toEqual([]);
    expect(state.tasks[0]).toMatchObject({ status: CANCELLED });
  });
});

describe("a timer", () => {
  it("is due so long after the kernel got it, rounded up, or at a point in time", () => {
    const at = { case: "timer", due: { atMs: START_MS + 5000 } } as const;
    held()
      .at(100)
      .when(suspend(1, { waits: [timer(0.2), timer(0, { name: "point", subject: at })] }))
      .records(
        suspended(0, 1, {
          opened: [
            timerDeclared({ dueAtMs: START_MS + 101 }),
            timerDeclared({ name: "point", dueAtMs: START_MS + 5000 }),
          ],
          waits: [0, 1],
        }),
      );
  });

  it("wakes its task when it is due and not 1 ms earlier", () => {
    waiting().at(999).when(fireDeadline()).isExisting();
    const { state } = waiting().at(1000).when(fireDeadline()).records(waitEnded(0, 0)).go();
    expect(state.tasks[0]).toMatchObject({ status: READY, openWaits: [] });
    expect(state.waits[0]).toMatchObject({ endedEvent: 4, closedAtMs: START_MS + 1000 });
  });

  it("that is past or has no length wakes it in the same commit", () => {
    const past = { case: "timer", due: { atMs: 5 } } as const;
    const { state } = held()
      .at(100)
      .when(suspend(1, { waits: [timer(0), timer(0, { name: "past", subject: past })] }))
      .records(
        suspended(0, 1, {
          opened: [
            timerDeclared({ dueAtMs: START_MS + 100 }),
            timerDeclared({ name: "past", dueAtMs: 5 }),
          ],
          waits: [0, 1],
        }),
        waitEnded(0, 1),
        waitEnded(0, 0),
      )
      .go();
    expect(state.tasks[0]?.status).toBe(READY);
  });

  it("keeps its time when it is named again", () => {
    held()
      .given(
        suspended(0, 1, {
          opened: [timerDeclared(), timerDeclared({ name: "b", dueAtMs: START_MS + 9000 })],
          waits: [0, 1],
        }),
      )
      .at(1000)
      .given(waitEnded(0, 0), leased(0, 2, { attempt: 1 }))
      .at(2000)
      .when(suspend(2, { seenThrough: 5, waits: [timer(9000, { name: "b" })] }))
      .records(suspended(0, 2, { opened: [], waits: [1], seenThrough: 5 }));
  });

  it("of at most ten years is taken, and no longer one", () => {
    const years10 = 315_360_000_000;
    const far = (atMs: number) => timer(0, { subject: { case: "timer", due: { atMs } } });
    expect(
      held()
        .when(suspend(1, { waits: [far(START_MS + years10)] }))
        .summary(),
    ).toBe("taskSuspended");
    held()
      .when(suspend(1, { waits: [far(START_MS + years10 + 1)] }))
      .rejects("PAWL_INVALID_FIELD", {
        field: "waits[0]",
        expected: "a time at most 315360000000 ms ahead",
        actual: "315360000001 ms ahead",
      });
  });
});

describe("a timer whose task runs", () => {
  it("is recorded when it is due, and no wake-up is lost", () => {
    const both = suspended(0, 1, {
      opened: [timerDeclared(), timerDeclared({ name: "b", dueAtMs: START_MS + 1500 })],
      waits: [0, 1],
    });
    const scenario = held()
      .given(both)
      .at(1000)
      .given(waitEnded(0, 0), leased(0, 2, { attempt: 1 }));
    scenario.at(1500).when(fireDeadline()).records(waitEnded(0, 1));
    scenario
      .when(suspend(2, { seenThrough: 5, waits: [timer(1, { name: "b" })] }))
      .records(suspended(0, 2, { opened: [], waits: [1], seenThrough: 5, next: READY }));
  });

  it("cannot be waited for again: it would wake for ever", () => {
    resumed()
      .when(suspend(2, { seenThrough: 5 }))
      .rejects("PAWL_INVALID_FIELD", {
        field: "waits[0]",
        expected: "a wait whose outcome was not yet given to the code (seen_through is 5)",
        actual: '"pause", which ended with event 4',
      });
  });
});

describe("what a task waits for", () => {
  const timers = (count: number) =>
    Array.from({ length: count }, (_, at) => timer(1000, { name: `t${at}` }));

  it("is 5000 things at a time at most", () => {
    expect(
      held()
        .when(suspend(1, { waits: timers(5000) }))
        .summary(),
    ).toBe("taskSuspended");
    held()
      .when(suspend(1, { waits: timers(5001) }))
      .rejects("PAWL_TOO_LARGE", {
        resource: "open waits",
        bound: "5000 open waits of a task",
      });
  });

  it("counts no more once it is there", () => {
    resumed()
      .when(suspend(2, { seenThrough: 4, waits: timers(5000) }))
      .records(
        suspended(0, 2, {
          opened: timers(5000).map(({ name }) => timerDeclared({ name, dueAtMs: START_MS + 2000 })),
          waits: Array.from({ length: 5000 }, (_, at) => at + 1),
          seenThrough: 4,
        }),
      );
  });

  it("keeps of a question what it needs, and not the message in which it came", () => {
    const fingerprint = new Uint8Array(4 * 1024 * 1024).subarray(1000, 1032);
    const asked = inputDeclared();
    const { subject } = asked;
    if (subject.case !== "input") {
      throw new Error("no question");
    }
    const opened = [
      { ...asked, subject: { ...subject, value: { ...subject.value, fingerprint } } },
    ];
    const { state } = held().given(suspended(0, 1, { opened }));
    const kept = state.waits[0]?.declaration.subject;
    // Short copies share slabs of 4 KiB.
    expect(kept?.case === "input" && kept.value.fingerprint.buffer.byteLength).toBe(4096);
  });
});

describe("a task that waits", () => {
  it("fails when schedule-to-close is over, and waits for nothing any more", () => {
    const scenario = waiting({ scheduleToCloseMs: 500 });
    scenario.at(499).when(fireDeadline()).isExisting();
    expect(scenario.at(500).when(fireDeadline()).summary()).toBe("taskTimedOut");
    const { state } = scenario.given(timedOut(0, TaskTimeoutKind.SCHEDULE_TO_CLOSE));
    expect(state.tasks[0]?.openWaits).toEqual([]);
    expect(state.waits[0]).toMatchObject({ ended: undefined, closedAtMs: START_MS + 500 });
  });

  it("ends at once when its run is asked to stop", () => {
    const { state } = waiting().at(200).when(cancelRun()).records(cancelRequested()).go();
    expect(state.tasks[0]).toMatchObject({ status: CANCELLED, openWaits: [] });
    expect(state.waits[0]).toMatchObject({ ended: undefined, closedAtMs: START_MS + 200 });
  });

  it("ends with a run that is terminated", () => {
    const { state } = waiting().given(runClosed(RunStatus.TERMINATED));
    expect(state.tasks[0]).toMatchObject({ status: CANCELLED, openWaits: [] });
  });

  it("accepts no report of the lease that it gave back", () => {
    waiting().when(completeTask(1)).rejects("PAWL_LEASE_LOST", {
      held: 1,
      current: 1,
      status: "SUSPENDED",
      cause: "suspended",
    });
  });
});
