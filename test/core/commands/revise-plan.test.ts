import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { specOf } from "@pawl/server/core/plan/change-spec.js";
import { planVersionOf } from "@pawl/server/core/plan/plan-versions.js";
import { nameOfTask, taskNumber } from "@pawl/server/core/plan/tasks-of-run.js";
import { describe, expect, it } from "vitest";
import {
  callTasks,
  cancelRun,
  changeTask,
  completeTask,
  failTask,
  intend,
  leaseTask,
  observe,
  pauseRun,
  startChild,
  suspend,
} from "../support/commands.js";
import { go, must, refusal } from "../support/go.js";
import { planOf, planTask, type TaskParts } from "../support/plans.js";
import { approve, people, propose } from "../support/proposals.js";
import { revisePlan } from "../support/revisions.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

const { BLOCKED, COMPLETED, LEASED, READY, SUPERSEDED } = TaskStatus;

type Tasks = Readonly<Record<string, TaskParts>>;

const started = (tasks: Tasks, output = ""): Scenario => Scenario.started(planOf(tasks, output));

/** Number of the present task of this name. */
const numberOf = ({ state }: Scenario, name: string): number => taskNumber(state, name) ?? -1;

/** Every task record of a run: name, state, and the plan version of its keys. */
const records = ({ state }: Scenario): readonly unknown[] =>
  state.tasks.map(({ number, status }) => [
    nameOfTask(state, number),
    status,
    planVersionOf(state, number),
  ]);

/** Leases the present task of a name and completes it. */
const finish = (scenario: Scenario, name: string, output = payload(name)): void => {
  const task = numberOf(scenario, name);
  must(scenario, leaseTask(task));
  const leaseVersion = scenario.state.tasks[task]?.leaseVersion ?? 0;
  must(scenario, completeTask(leaseVersion, { task, output }));
};

/** The present task of a name does its effect, which must be approved first: no approval of an earlier one serves, and the sink is called once. */
const performApproved = (
  scenario: Scenario,
  name: string,
  { proposal, key }: { readonly proposal: number; readonly key: string },
): void => {
  const task = numberOf(scenario, name);
  must(scenario, leaseTask(task));
  const leaseVersion = scenario.state.tasks[task]?.leaseVersion ?? 0;
  const lease = { task, leaseVersion };
  must(scenario, propose(leaseVersion, { lease }), people.robot);
  const intentId = `call of ${key}`;
  const waiting = must(scenario, intend(leaseVersion, intentId, { lease }), people.robot);
  expect(waiting.intent).toMatchObject({ case: "awaiting", operationKey: key, proposal });
  must(scenario, approve({ proposal, proposalId: `1-p${proposal}` }), people.ann);
  const proceed = must(scenario, intend(leaseVersion, intentId, { lease }), people.robot);
  expect(proceed.intent).toEqual({ case: "proceed", operationKey: key, callMs: 1000 });
  must(scenario, observe(intentId, { case: "result", value: payload("T-1") }, key));
  must(scenario, completeTask(leaseVersion, { task, output: payload("T-1") }));
};

const chain: Tasks = {
  read: {},
  post: { needs: ["read"], input: payload("hello") },
  tell: { needs: ["post"] },
};

describe("a revision of a plan", () => {
  it("reuses what is done, keeps what is the same, supersedes what changed and adds what is new", () => {
    const scenario = started(chain);
    finish(scenario, "read");
    const reply = must(
      scenario,
      revisePlan(1, {
        read: {},
        post: { needs: ["read"], input: payload("good day") },
        log: { needs: ["read"] },
      }),
    );
    expect(reply.revision?.tasks).toEqual([
      {
        name: "read",
        revision: "reused",
        fields: [],
        status: COMPLETED,
        number: 0,
        succeeded: false,
      },
      {
        name: "post",
        revision: "superseded",
        fields: ["input"],
        status: READY,
        number: 1,
        succeeded: true,
      },
      {
        name: "tell",
        revision: "superseded",
        fields: [],
        status: BLOCKED,
        number: 2,
        succeeded: false,
      },
      {
        name: "post",
        revision: "added",
        fields: [],
        status: undefined,
        number: 3,
        succeeded: false,
      },
      {
        name: "log",
        revision: "added",
        fields: [],
        status: undefined,
        number: 4,
        succeeded: false,
      },
    ]);
    expect(records(scenario)).toEqual([
      ["read", COMPLETED, 1],
      ["post", SUPERSEDED, 1],
      ["tell", SUPERSEDED, 1],
      ["post", READY, 2],
      ["log", READY, 2],
    ]);
    expect(scenario.state.openTasks).toBe(2);
    finish(scenario, "post");
    finish(scenario, "log");
    expect(scenario.state.status).toBe(RunStatus.COMPLETED);
  });
});

describe("a task that a person changed, and whose policy a revision changes", () => {
  it.each(["while it is open", "when it has ended"])(
    "keeps what the person said, and has the rest of the plan, %s",
    (when) => {
      const scenario = started({ only: {}, other: {} });
      const timeouts = planTask("only", { startToCloseMs: 9000 }).timeouts;
      must(scenario, changeTask({ case: "policy", retry: undefined, timeouts }, 0));
      if (when === "when it has ended") {
        finish(scenario, "only");
      }
      must(scenario, revisePlan(1, { only: { priority: 4, queue: "q10" }, other: {} }));
      expect(specOf(scenario.state, 0)).toMatchObject({
        priority: 4,
        queue: "q10",
        startToCloseMs: 9000,
      });
    },
  );
});

describe("a revision of a task that others need", () => {
  it("supersedes what needs a changed task, however far behind it, and keeps what does not", () => {
    const scenario = started({
      a: {},
      b: { needs: ["a"] },
      c: { needs: ["b"] },
      aside: { needs: [] },
    });
    must(
      scenario,
      revisePlan(1, {
        a: { kind: "other" },
        b: { needs: ["a"] },
        c: { needs: ["b"] },
        aside: {},
      }),
    );
    expect(records(scenario)).toEqual([
      ["a", SUPERSEDED, 1],
      ["b", SUPERSEDED, 1],
      ["c", SUPERSEDED, 1],
      ["aside", READY, 1],
      ["a", READY, 2],
      ["b", BLOCKED, 2],
      ["c", BLOCKED, 2],
    ]);
  });
});

describe("the versions of a plan", () => {
  it("posts a ticket in plan version 3 and edits it in version 4: both records are readable, with one authorised effect each", () => {
    const scenario = started({ only: { input: payload("first") } });
    must(scenario, revisePlan(1, { only: { input: payload("second") } }));
    const posts: Tasks = { post: { kind: "tickets.create", input: payload("Broken") }, later: {} };
    must(scenario, revisePlan(2, posts));
    performApproved(scenario, "post", { proposal: 0, key: "task/default/r1/1/post/mail/3" });
    const edits: Tasks = { post: { kind: "tickets.edit", input: payload("Repaired") }, later: {} };
    must(scenario, revisePlan(3, edits));
    performApproved(scenario, "post", { proposal: 1, key: "task/default/r1/1/post/mail/4" });
    finish(scenario, "later");
    const { OBSERVED } = OperationStatus;
    const { operations, proposals, revisions } = scenario.state;
    expect(
      operations.map(({ declaration: { key }, status, calls }) => [key, status, calls]),
    ).toEqual([
      ["task/default/r1/1/post/mail/3", OBSERVED, 1],
      ["task/default/r1/1/post/mail/4", OBSERVED, 1],
    ]);
    expect(proposals.map(({ status, operation }) => [status, operation])).toEqual([
      [ProposalStatus.CONSUMED, 0],
      [ProposalStatus.CONSUMED, 1],
    ]);
    expect(revisions?.versions.map(({ plan }) => plan.bytes)).toEqual([
      planOf({ only: { input: payload("first") } }).bytes,
      planOf({ only: { input: payload("second") } }).bytes,
      planOf(posts).bytes,
      planOf(edits).bytes,
    ]);
    expect(records(scenario)).toEqual([
      ["only", SUPERSEDED, 1],
      ["only", SUPERSEDED, 2],
      ["post", COMPLETED, 3],
      ["later", COMPLETED, 3],
      ["post", COMPLETED, 4],
    ]);
    expect(scenario.state.status).toBe(RunStatus.COMPLETED);
  });

  it("answers the same revision again as existing, and another one as stale", () => {
    const scenario = started(chain);
    const wider: Tasks = { ...chain, log: {} };
    must(scenario, revisePlan(1, wider));
    const again = must(scenario, revisePlan(1, wider));
    expect(again.existing).toBe(true);
    expect(again.revision?.planVersion).toBe(2);
    expect(refusal(scenario, revisePlan(1, { read: {} }))).toMatchObject({
      reason: "PAWL_STALE_VERSION",
      detail: { value: { entity: "plan", expected: 1, actual: 2 } },
    });
  });

  it("makes no version of a plan that changes nothing", () => {
    const scenario = started(chain);
    const same = must(scenario, revisePlan(1, chain));
    expect(same).toMatchObject({ existing: true, revision: { planVersion: 1, isEqual: true } });
    expect(scenario.state.revisions).toBeUndefined();
  });

  it("says on a dry run what it would do, and does nothing", () => {
    const scenario = started(chain);
    const { reply } = { reply: must(scenario, revisePlan(1, { read: {} }, { isDryRun: true })) };
    expect(reply).toMatchObject({ existing: false, revision: { planVersion: 2 } });
    expect(scenario.state.revisions).toBeUndefined();
  });
});

describe("a task that is superseded under its lease", () => {
  const held = (): Scenario => {
    const scenario = started({ post: { input: payload(1) } });
    must(scenario, leaseTask(0));
    return scenario;
  };

  it("has its late report kept as evidence, which changes nothing", () => {
    const scenario = held();
    must(scenario, revisePlan(1, { post: { input: payload(2) } }));
    expect(records(scenario)).toEqual([
      ["post", SUPERSEDED, 1],
      ["post", READY, 2],
    ]);
    const events = scenario.state.eventCount;
    expect(refusal(scenario, completeTask(1, { output: payload("late") }))).toMatchObject({
      reason: "PAWL_LEASE_LOST",
      detail: { value: { held: 1, current: 1, status: "SUPERSEDED", cause: "superseded" } },
    });
    expect(scenario.state.eventCount).toBe(events + 1);
    expect(scenario.state.tasks[0]).toMatchObject({ status: SUPERSEDED, output: undefined });
    expect(refusal(scenario, completeTask(1, { output: payload("late") })).reason).toBe(
      "PAWL_LEASE_LOST",
    );
    expect(scenario.state.eventCount).toBe(events + 1);
  });

  it("never holds the task that takes its place, by name", () => {
    const scenario = held();
    must(scenario, revisePlan(1, { post: { input: payload(2) } }));
    must(scenario, leaseTask(1));
    expect(scenario.state.tasks[1]).toMatchObject({ status: LEASED, leaseVersion: 2 });
    expect(refusal(scenario, completeTask(1, { task: "post" })).reason).toBe("PAWL_LEASE_LOST");
    expect(scenario.state.tasks[1]).toMatchObject({ status: LEASED });
  });

  it("leaves an operation that nobody knows of, and its successor waits until it is settled", () => {
    const scenario = held();
    must(scenario, intend(1, "i1"));
    must(scenario, revisePlan(1, { post: { input: payload(2) } }));
    expect(scenario.state.operations[0]).toMatchObject({ status: OperationStatus.NEEDS_REVIEW });
    must(scenario, leaseTask(1));
    const successor = intend(2, "i2", { lease: { task: 1, leaseVersion: 2 } });
    expect(refusal(scenario, successor)).toMatchObject({
      reason: "PAWL_PREDECESSOR_UNSETTLED",
      detail: {
        value: {
          operationKey: "task/default/r1/1/post/mail/1",
          planVersion: 1,
          retryAfterMs: 6000,
        },
      },
    });
    must(
      scenario,
      observe("i1", { case: "result", value: payload("sent") }, "task/default/r1/1/post/mail/1"),
    );
    expect(scenario.state.operations[0]).toMatchObject({ status: OperationStatus.OBSERVED });
    expect(must(scenario, successor).intent).toEqual({
      case: "proceed",
      operationKey: "task/default/r1/1/post/mail/2",
      callMs: 1000,
    });
  });
});

describe("what a superseded task leaves", () => {
  const held = (tasks: Tasks = { post: { input: payload(1) } }): Scenario => {
    const scenario = started(tasks);
    must(scenario, leaseTask(0));
    return scenario;
  };
  const other: Tasks = { post: { input: payload(2) } };

  it("has its pending proposal SUPERSEDED and its approval revoked, and an unchanged task keeps its own", () => {
    const scenario = held();
    must(scenario, propose(1), people.robot);
    must(scenario, revisePlan(1, other));
    expect(scenario.state.proposals[0]).toMatchObject({ status: ProposalStatus.SUPERSEDED });
    must(scenario, leaseTask(1));
    must(scenario, propose(2, { lease: { task: 1, leaseVersion: 2 } }), people.robot);
    must(scenario, approve({ proposal: 1, proposalId: "1-p1" }), people.ann);
    must(scenario, revisePlan(2, { ...other, log: {} }));
    expect(scenario.state.proposals[1]).toMatchObject({ status: ProposalStatus.APPROVED });
    must(scenario, revisePlan(3, { post: { input: payload(3) }, log: {} }));
    expect(scenario.state.proposals[1]).toMatchObject({
      status: ProposalStatus.REVOKED,
      endReason: "Plan version 4 superseded its task.",
    });
  });

  it("has its waits closed, its calls ended and its children told to end, and their names are free again", () => {
    const scenario = held();
    must(scenario, callTasks(1, ["part"]));
    must(scenario, startChild(1));
    must(scenario, suspend(1));
    must(scenario, revisePlan(1, other));
    expect(scenario.state.waits[0]?.closedAtMs).toBe(START_MS);
    expect(scenario.state.openWaitsBySubject.size).toBe(0);
    expect(records(scenario)).toEqual([
      ["post", SUPERSEDED, 1],
      ["part", TaskStatus.CANCELLED, 1],
      ["post", READY, 2],
    ]);
    expect(scenario.state.obligations[1]?.declaration).toMatchObject({
      runId: "r1/1/post/part",
      order: { case: "cancel" },
    });
    must(scenario, leaseTask(2));
    must(scenario, callTasks(2, ["part"], [], { task: 2 }));
    expect(records(scenario)[3]).toEqual(["part", READY, 2]);
    must(scenario, startChild(2, undefined, { task: 2 }));
    expect(scenario.state.obligations[2]?.declaration.runId).toBe("r1/1/post@2/part");
  });

  it("lets an unchanged task go on with its lease, its key and its open effect", () => {
    const scenario = held({ post: {}, log: {} });
    must(scenario, intend(1, "i1"));
    must(scenario, revisePlan(1, { post: {}, log: { kind: "other" } }));
    expect(scenario.state.operations[0]).toMatchObject({ status: OperationStatus.INTENDED });
    must(
      scenario,
      observe("i1", { case: "result", value: payload(1) }, "task/default/r1/1/post/mail/1"),
    );
    must(scenario, completeTask(1));
    expect(scenario.state.tasks[0]).toMatchObject({ status: COMPLETED });
  });
});

describe("a revision that code proposes", () => {
  const proposer = {
    task: "main",
    leaseVersion: 1,
    record: "plan",
    key: undefined,
    seenThrough: 0,
  };
  const wider: Tasks = { main: {}, more: { needs: ["main"] } };
  const planning = (): Scenario => {
    const scenario = started({ main: {} });
    must(scenario, leaseTask(0));
    return scenario;
  };

  it("is remembered as a step, and answers the same again whatever came after it", () => {
    const scenario = planning();
    must(scenario, revisePlan(1, wider, { proposer, expectedPlanVersion: undefined }));
    expect(scenario.state.steps).toHaveLength(1);
    must(scenario, revisePlan(2, { main: {} }));
    const again = must(scenario, revisePlan(1, wider, { proposer }));
    expect(again).toMatchObject({ existing: true, revision: { planVersion: 2 } });
    expect(refusal(scenario, revisePlan(1, { main: {}, x: {} }, { proposer })).reason).toBe(
      "PAWL_FINGERPRINT_CONFLICT",
    );
  });

  it("must leave the proposing task as it is", () => {
    const scenario = planning();
    expect(refusal(scenario, revisePlan(1, { main: { kind: "x" } }, { proposer })).reason).toBe(
      "PAWL_ILLEGAL_TRANSITION",
    );
  });

  it("needs its lease", () => {
    const stale = { ...proposer, leaseVersion: 9 };
    expect(refusal(planning(), revisePlan(1, wider, { proposer: stale })).reason).toBe(
      "PAWL_LEASE_LOST",
    );
  });
});

describe("a revision", () => {
  it("of a paused run is taken, and of one that was asked to stop refused", () => {
    const scenario = started({ only: {}, other: {} });
    must(scenario, leaseTask(0));
    must(scenario, pauseRun());
    must(scenario, revisePlan(1, { only: {} }));
    must(scenario, cancelRun());
    expect(refusal(scenario, revisePlan(2, { only: {}, x: {} })).reason).toBe(
      "PAWL_ILLEGAL_TRANSITION",
    );
  });

  it("applies policies at once, to the same record", () => {
    const scenario = started({ only: {} });
    must(scenario, revisePlan(1, { only: { priority: 7, queue: "fast" } }));
    expect(records(scenario)).toEqual([["only", READY, 1]]);
    expect(scenario.state.plan.tasks[0]).toMatchObject({ priority: 7, queue: "fast" });
  });

  it("that adds a task behind a failed one skips it, and one behind a completed one is ready", () => {
    const scenario = started({ bad: { retry: { attemptsMax: 1 } }, good: {}, open: {} });
    must(scenario, leaseTask(0));
    must(scenario, failTask(1));
    finish(scenario, "good");
    must(
      scenario,
      revisePlan(1, {
        bad: { retry: { attemptsMax: 1 } },
        good: {},
        open: {},
        afterBad: { needs: ["bad"] },
        far: { needs: ["afterBad"] },
        afterGood: { needs: ["good"] },
      }),
    );
    expect(records(scenario).slice(3)).toEqual([
      ["afterBad", TaskStatus.SKIPPED, 2],
      ["far", TaskStatus.SKIPPED, 2],
      ["afterGood", READY, 2],
    ]);
    expect(scenario.state.failedTasks).toBe(3);
  });

  it("of a run that is over is refused", () => {
    const scenario = started({ only: {} });
    finish(scenario, "only");
    const came = go(scenario, revisePlan(1, { only: { kind: "other" } }));
    expect(came).toMatchObject({ rejection: { reason: "PAWL_RUN_OVER" } });
    expect(came).toHaveProperty(
      "rejection.message",
      expect.stringContaining("Next: retry what failed of it (run.retry() of the SDK, RetryRun)"),
    );
  });
});
