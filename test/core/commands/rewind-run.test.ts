import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { describe, expect, it } from "vitest";
import {
  beforeTask,
  completeTask,
  intend,
  leaseTask,
  resolveReview,
  rewindRun,
  sendSignal,
} from "../support/commands.js";
import {
  attemptFailed,
  calledTask,
  completed,
  declared,
  doubted,
  leased,
  observedResult,
  reviewOpened,
  runClosed,
  signalDeclared,
  signalReceived,
  signalTaken,
  stepRecorded,
  suspended,
  tasksCalled,
  waitsOpened,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { approved, propose, proposed } from "../support/proposals.js";
import { Scenario, type When } from "../support/scenario.js";
import { fingerprint, START_MS } from "../support/values.js";

const { BLOCKED, CANCELLED, COMPLETED, LEASED, READY } = TaskStatus;

/** fetch → post → tell, and note beside them. Each is completed, in this order, and the run with them. */
function done(): Scenario {
  const plan = planOf(
    { fetch: {}, post: { needs: ["fetch"] }, tell: { needs: ["post"] }, note: {} },
    "tell",
  );
  const scenario = Scenario.started(plan);
  for (const task of [0, 1, 3]) {
    scenario.given(leased(task, 1), completed(task, 1));
  }
  scenario.given(leased(2, 1));
  scenario.commit([completed(2, 1)]);
  expect(scenario.state.status).toBe(RunStatus.COMPLETED);
  return scenario;
}

/** Accepts what was decided, with all that follows. */
function go(scenario: Scenario, when: When): Scenario {
  const { decision } = when;
  if (!decision.accepted) {
    throw new Error(decision.rejection.message);
  }
  scenario.commit(decision.events);
  return scenario;
}

describe("a rewind of a plan", () => {
  it("to before a task opens it and what depends on it again, and leaves the others", () => {
    const scenario = done();
    const { version } = scenario.state;
    go(scenario, scenario.at(50).when(rewindRun(beforeTask("post"))));
    const { state } = scenario;
    expect(state.tasks.map(({ status }) => status)).toEqual([COMPLETED, READY, BLOCKED, COMPLETED]);
    expect(state).toMatchObject({
      status: RunStatus.RUNNING,
      closedAtMs: 0,
      generation: 2,
      incarnation: 1,
      openTasks: 2,
    });
    expect(state.version).toBeGreaterThan(version);
    expect(state.tasks.map(({ generation }) => generation)).toEqual([1, 2, 2, 1]);
    expect(state.tasks[1]).toMatchObject({ attempt: 0, usedAttempts: 0, output: undefined });
    expect(state.tasks[1]?.readyAtMs).toBe(START_MS + 50);
  });

  it("to an event opens what was not over then", () => {
    const scenario = done();
    // 1 started, 2–3 fetch, 4–5 post, 6–7 note, 8–9 tell, 10 closed
    go(scenario, scenario.when(rewindRun(6)));
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([
      COMPLETED,
      COMPLETED,
      READY,
      READY,
    ]);
  });

  it("comes to its end again, with leases above all before", () => {
    const scenario = done();
    go(scenario, scenario.when(rewindRun(beforeTask("tell"))));
    scenario.when(leaseTask(2)).records(leased(2, 2, { attempt: 1 }));
    scenario.commit([completed(2, 2)]);
    expect(scenario.state.status).toBe(RunStatus.COMPLETED);
  });

  it("takes a lease away: what its worker reports late changes nothing", () => {
    const scenario = Scenario.started(planOf({ only: {} }, "only")).given(leased(0, 1));
    go(scenario, scenario.when(rewindRun(1)));
    expect(scenario.state.tasks[0]).toMatchObject({
      status: READY,
      leaseEndReason: LeaseEndReason.REWOUND,
    });
    scenario
      .when(completeTask(1))
      .rejects("PAWL_LEASE_LOST", { held: 1, current: 1, status: "READY", cause: "rewound" });
  });

  it("tells the leases that it takes, and what is ready", () => {
    const told: string[] = [];
    const hooks = {
      ...silentHooks,
      leaseOver: (_run: unknown, task: number, cause: string) => told.push(`over ${task} ${cause}`),
      taskReady: (_run: unknown, task: number) => told.push(`ready ${task}`),
    };
    const scenario = Scenario.started(planOf({ only: {} }, "only"), hooks).given(leased(0, 1));
    told.length = 0;
    go(scenario, scenario.when(rewindRun(1)));
    expect(told).toEqual(["over 0 rewound", "ready 0"]);
  });
});

describe("a rewind of a run", () => {
  it("opens a run again that was cancelled, failed or terminated", () => {
    for (const status of [RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.TERMINATED]) {
      const scenario = Scenario.ofOne();
      scenario.commit([runClosed(status)]);
      expect(scenario.state.tasks[0]?.status).toBe(CANCELLED);
      go(scenario, scenario.when(rewindRun(1)));
      expect(scenario.state).toMatchObject({ status: RunStatus.RUNNING, failure: undefined });
      expect(scenario.state.tasks[0]?.status).toBe(READY);
    }
  });

  it("is refused beyond the events of the run, for a task that it has not, and where nothing follows", () => {
    done().when(rewindRun(0)).rejects("PAWL_INVALID_FIELD");
    done().when(rewindRun(11)).rejects("PAWL_INVALID_FIELD");
    done()
      .when(rewindRun(beforeTask("other")))
      .rejects("PAWL_TASK_NOT_FOUND");
    done()
      .when(rewindRun(beforeTask("post", "draw")))
      .rejects("PAWL_INVALID_FIELD");
    done().when(rewindRun(10)).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("is known again by its request, and refused when it says something else", () => {
    const scenario = done();
    go(scenario, scenario.when(rewindRun(beforeTask("tell"))));
    scenario.when(rewindRun(beforeTask("tell"))).isExisting();
    scenario
      .when(rewindRun(beforeTask("post"), { digest: fingerprint(2) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("is refused for another version than the present one", () => {
    const scenario = done();
    const { version } = scenario.state;
    scenario
      .when(rewindRun(1, { expectedVersion: version + 1 }))
      .rejects("PAWL_STALE_VERSION", { entity: "run", expected: version + 1, actual: version });
  });

  it("says in a dry run what would happen, and changes nothing", () => {
    const { decision } = done().when(rewindRun(beforeTask("post"), { dryRun: true }));
    expect(decision).toMatchObject({
      accepted: true,
      events: [],
      reply: {
        rewind: {
          generation: 2,
          reopened: [
            { task: "post", keepThrough: 0 },
            { task: "tell", keepThrough: 0 },
          ],
          gone: [],
        },
      },
    });
  });
});

/** The only task is leased and has recorded `draw` (event 3) and `toss` (event 4). */
function recorded(): Scenario {
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    stepRecorded(0, 1, { name: "toss", seenThrough: 3 }),
  );
}

describe("what a task recorded", () => {
  it("stays up to the point, and is made anew after it", () => {
    const scenario = recorded();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "toss"))));
    const { state } = scenario;
    expect(state.steps.map(({ name, dropped }) => [name, dropped])).toEqual([
      ["draw", 0],
      ["toss", 2],
    ]);
    expect(state.tasks[0]?.steps).toEqual([0]);
    scenario.given(leased(0, 2, { attempt: 1 }), stepRecorded(0, 2, { name: "toss" }));
    expect(state.steps.map(({ dropped }) => dropped)).toEqual([0, 2, 0]);
  });

  it("is made anew before the point too when it is a read that is too old", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "quote", observedAtMs: START_MS, maxAgeMs: 1000 }),
      stepRecorded(0, 1, { name: "rate", observedAtMs: START_MS, maxAgeMs: 5000 }),
      stepRecorded(0, 1, { name: "toss" }),
    );
    go(scenario, scenario.at(2000).when(rewindRun(beforeTask("only", "toss"))));
    expect(scenario.state.steps.map(({ name, dropped }) => [name, dropped])).toEqual([
      ["quote", 2],
      ["rate", 0],
      ["toss", 2],
    ]);
  });
});

describe("what a task called", () => {
  it("after the point is no longer of the run, and may be called again by its name", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      tasksCalled(0, 1, ["a"]),
      tasksCalled(0, 1, ["b"]),
      leased(1, 1),
      completed(1, 1),
      leased(2, 1),
    );
    go(scenario, scenario.when(rewindRun(beforeTask("only", "b"))));
    const { state } = scenario;
    // a ended after the point: it is open again.
    expect(state.tasks.map(({ status }) => status)).toEqual([READY, READY, CANCELLED]);
    expect(state.tasks.map(({ dropped }) => dropped)).toEqual([0, 0, 2]);
    expect([...state.calledByName]).toEqual([["a", 1]]);
    scenario.given(leased(0, 2, { attempt: 1 }), tasksCalled(0, 2, [calledTask("b")]));
    expect([...state.calledByName]).toEqual([
      ["a", 1],
      ["b", 3],
    ]);
  });

  it("stays when it had ended before the point", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      tasksCalled(0, 1, ["a"]),
      leased(1, 1),
      completed(1, 1),
      stepRecorded(0, 1, { name: "toss" }),
    );
    go(scenario, scenario.when(rewindRun(beforeTask("only", "toss"))));
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([READY, COMPLETED]);
    expect(scenario.state.tasks[0]?.calls?.ended).toEqual([1]);
  });

  it("is the point itself: its caller goes on from before its end", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "draw" }),
      tasksCalled(0, 1, ["a"]),
      leased(1, 1),
      completed(1, 1),
      stepRecorded(0, 1, { name: "toss" }),
    );
    go(scenario, scenario.when(rewindRun(beforeTask("a"))));
    const { state } = scenario;
    expect(state.tasks.map(({ status }) => status)).toEqual([READY, READY]);
    expect(state.steps.map(({ dropped }) => dropped)).toEqual([0, 2]);
  });
});

/** The task waits for `go` from event 4 on; `extra` comes at its end. */
function signalled(): Scenario {
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    suspended(0, 1, { opened: [signalDeclared()] }),
    signalReceived(),
    signalTaken(0, 0),
    leased(0, 2, { attempt: 1 }),
  );
}

describe("a message that was taken after the point", () => {
  it("is unread again", () => {
    const scenario = signalled();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "draw"))));
    const { state } = scenario;
    expect(state.waits[0]).toMatchObject({ dropped: 2 });
    expect(state.signals[0]?.takenBy).toBeUndefined();
    expect(state.keptSignalCount).toBe(1);
  });

  it("is not given again when they are dropped, and its request is still known", () => {
    const scenario = signalled();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "draw"), { dropsMessages: true })));
    expect(scenario.state.signals[0]?.takenBy).toBe("earlier");
    expect(scenario.state.keptSignalCount).toBe(0);
    scenario.when(sendSignal()).isExisting();
  });

  it("by a wait that began before it stays with that wait: it is given again in its place", () => {
    const scenario = signalled();
    go(scenario, scenario.when(rewindRun(4)));
    expect(scenario.state.waits[0]).toMatchObject({ dropped: 0, endedEvent: 6 });
    expect(scenario.state.tasks[0]?.endedWaits).toEqual([0]);
  });

  it("goes to whoever else waits for it since", () => {
    const scenario = Scenario.started(planOf({ one: {}, other: {} })).given(
      leased(0, 1),
      leased(1, 1),
      waitsOpened(0, 1, [signalDeclared()]),
      signalReceived(),
      signalTaken(0, 0),
      waitsOpened(1, 1, [signalDeclared()]),
    );
    go(scenario, scenario.when(rewindRun(beforeTask("one"))));
    expect(scenario.state.signals[0]?.takenBy).toBe(1);
  });
});

/** `mail` of the only task is OBSERVED by event 4, after step `draw` (event 3) was recorded. */
function observed(): Scenario {
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    declared(),
    observedResult(),
  );
}

describe("an operation after the point (K30)", () => {
  it("is reused under its key when the same is asked, in a place of its own", () => {
    const scenario = observed();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "draw"))));
    expect(scenario.state.operations[0]).toMatchObject({ carried: true, settledEvent: 5 });
    scenario.given(leased(0, 2, { attempt: 1 }));
    const when = scenario.when(intend(2, "i9", { seenThrough: 3 }));
    expect(when.summary()).toBe("operationReused: reuse");
    go(scenario, when);
    expect(scenario.state.operations[0]).toMatchObject({
      carried: false,
      calls: 1,
      settledEvent: 8,
      settledSeenThrough: 3,
      status: OperationStatus.OBSERVED,
    });
    expect(scenario.when(intend(2, "i10")).summary()).toBe("existing: reuse");
  });

  it("waits for a person when another content is asked, and never calls the sink again", () => {
    const scenario = observed();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "draw"))));
    scenario.given(leased(0, 2, { attempt: 1 }));
    const other = { fingerprint: fingerprint(9) };
    const when = scenario.when(intend(2, "i9", other));
    expect(when.summary()).toBe("reviewOpened leaseEnded: review");
    go(scenario, when);
    expect(scenario.state.reviews[0]).toMatchObject({ subject: ReviewSubject.REUSE, task: 0 });
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.NEEDS_REVIEW);
    go(scenario, scenario.when(resolveReview(ReviewChoice.ACCEPT)));
    scenario.given(leased(0, 3, { attempt: 1 }));
    expect(scenario.when(intend(3, "i9", other)).summary()).toBe("operationReused: reuse");
    go(scenario, scenario.when(intend(3, "i9", other)));
    expect(scenario.when(intend(3, "i9", other)).summary()).toBe("existing: reuse");
    expect(scenario.state.operations[0]?.calls).toBe(1);
  });

  it("fails its task when a person does not accept its result", () => {
    const scenario = observed();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "draw"))));
    scenario.given(leased(0, 2, { attempt: 1 }));
    go(scenario, scenario.when(intend(2, "i9", { fingerprint: fingerprint(9) })));
    go(scenario, scenario.when(resolveReview(ReviewChoice.FAIL)));
    expect(scenario.state.status).toBe(RunStatus.FAILED);
  });

  it("whose question nobody asks any more leaves no open review", () => {
    const scenario = observed();
    go(scenario, scenario.when(rewindRun(beforeTask("only", "draw"))));
    scenario.given(leased(0, 2, { attempt: 1 }));
    go(scenario, scenario.when(intend(2, "i9", { fingerprint: fingerprint(9) })));
    scenario.commit([runClosed(RunStatus.TERMINATED)]);
    expect(scenario.state.reviews[0]?.resolvedAtMs).not.toBe(0);
  });

  it("that is unsettled refuses it, and its review is named", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), declared());
    scenario.when(rewindRun(1)).rejects("PAWL_OPERATIONS_UNSETTLED");
    const asked = Scenario.ofOne().given(leased(0, 1), declared(), doubted(), reviewOpened());
    const { decision } = asked.when(rewindRun(1), { runNumber: 7 });
    expect(decision).toMatchObject({ accepted: false });
    expect(JSON.stringify(decision)).toContain("resolve review 7-0");
  });

  it("before the point stays as it was given", () => {
    const scenario = observed().given(stepRecorded(0, 1, { name: "toss" }));
    go(scenario, scenario.when(rewindRun(beforeTask("only", "toss"))));
    expect(scenario.state.operations[0]).toMatchObject({ carried: false, settledEvent: 5 });
    scenario.given(leased(0, 2, { attempt: 1 }));
    expect(scenario.when(intend(2, "i9")).summary()).toBe("existing: reuse");
  });
});

describe("an approval after the point (K29)", () => {
  it("that was not used ends, and is asked for anew: no decision reaches the new proposal", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "quote", observedAtMs: START_MS }),
      proposed(),
      approved(),
    );
    go(scenario, scenario.when(rewindRun(beforeTask("only", "quote"))));
    expect(scenario.state.proposals[0]).toMatchObject({
      status: ProposalStatus.REVOKED,
      dropped: 2,
    });
    scenario.given(leased(0, 2, { attempt: 1 }));
    go(scenario, scenario.when(propose(2, { fingerprint: fingerprint(9) })));
    expect(scenario.state.proposals[1]?.status).toBe(ProposalStatus.PENDING);
    const intent = scenario.when(intend(2, "i9", { fingerprint: fingerprint(9) }));
    expect(intent.summary()).toBe("existing: awaiting");
  });

  it("that is pending is withdrawn", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), proposed());
    go(scenario, scenario.when(rewindRun(1)));
    expect(scenario.state.proposals[0]?.status).toBe(ProposalStatus.WITHDRAWN);
    expect(scenario.state.openProposals.size).toBe(0);
  });

  it("leaves its action one that needs an approval, also of code that does not ask again", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), proposed());
    go(scenario, scenario.when(rewindRun(1)));
    scenario.given(leased(0, 2, { attempt: 1 }));
    expect(scenario.when(intend(2, "i9")).summary()).toBe("existing: awaiting");
  });

  it("before the point stays open, with its decision", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      proposed(),
      stepRecorded(0, 1, { name: "toss" }),
      approved(),
    );
    go(scenario, scenario.when(rewindRun(beforeTask("only", "toss"))));
    expect(scenario.state.proposals[0]).toMatchObject({
      status: ProposalStatus.APPROVED,
      dropped: 0,
    });
  });
});

describe("a failed run that goes back", () => {
  it("to before the task that failed has all its attempts again", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1));
    scenario.commit([attemptFailed(0, 1)]);
    expect(scenario.state.status).toBe(RunStatus.FAILED);
    go(scenario, scenario.when(rewindRun(beforeTask("only"))));
    expect(scenario.state.tasks[0]).toMatchObject({ status: READY, usedAttempts: 0 });
    scenario.when(leaseTask(0)).records(leased(0, 2, { attempt: 1 }));
    expect(scenario.state.tasks[0]?.status).toBe(LEASED);
  });
});
