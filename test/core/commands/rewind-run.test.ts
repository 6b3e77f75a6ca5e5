import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { describe, expect, it } from "vitest";
import { beforeTask, completeTask, leaseTask, rewindRun } from "../support/commands.js";
import { attemptFailed, completed, leased, runClosed } from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
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

describe("a rewind of a plan", () => {
  it("to before a task opens it and what depends on it again, and leaves the others", () => {
    const scenario = done();
    const { version } = scenario.state;
    must(scenario.at(50), rewindRun(beforeTask("post")));
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
    must(scenario, rewindRun(6));
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([
      COMPLETED,
      COMPLETED,
      READY,
      READY,
    ]);
  });

  it("comes to its end again, with leases above all before", () => {
    const scenario = done();
    must(scenario, rewindRun(beforeTask("tell")));
    scenario.when(leaseTask(2)).records(leased(2, 2, { attempt: 1 }));
    scenario.commit([completed(2, 2)]);
    expect(scenario.state.status).toBe(RunStatus.COMPLETED);
  });

  it("takes a lease away: what its worker reports late changes nothing", () => {
    const scenario = Scenario.started(planOf({ only: {} }, "only")).given(leased(0, 1));
    must(scenario, rewindRun(1));
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
    must(scenario, rewindRun(1));
    expect(told).toEqual(["over 0 rewound", "ready 0"]);
  });
});

describe("a rewind of a run", () => {
  it("opens a run again that was cancelled, failed or terminated", () => {
    for (const status of [RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.TERMINATED]) {
      const scenario = Scenario.ofOne();
      scenario.commit([runClosed(status)]);
      expect(scenario.state.tasks[0]?.status).toBe(CANCELLED);
      must(scenario, rewindRun(1));
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
    must(scenario, rewindRun(beforeTask("tell")));
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

describe("a failed run that goes back", () => {
  it("to before the task that failed has all its attempts again", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1));
    scenario.commit([attemptFailed(0, 1)]);
    expect(scenario.state.status).toBe(RunStatus.FAILED);
    must(scenario, rewindRun(beforeTask("only")));
    expect(scenario.state.tasks[0]).toMatchObject({ status: READY, usedAttempts: 0 });
    scenario.when(leaseTask(0)).records(leased(0, 2, { attempt: 1 }));
    expect(scenario.state.tasks[0]?.status).toBe(LEASED);
  });
});
