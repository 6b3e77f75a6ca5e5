import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { childRunId } from "@pawl/server/core/identity/child-run-id.js";
import { describe, expect, it } from "vitest";
import {
  childWait,
  completeTask,
  endChild,
  settleObligation,
  startChild,
  startRun,
  suspend,
  terminateRun,
} from "../support/commands.js";
import {
  completed,
  leased,
  obligationMade,
  obligationSettled,
  runClosed,
  suspended,
  waitEnded,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, sha256 } from "../support/values.js";

const childId = "r1/1/only/part";
const plan = planOf({ only: {} }, "only");

const started = (parentClose: ParentClose = ParentClose.CANCEL): EventBody =>
  obligationMade(1, {
    ...{ name: "part", runId: childId },
    order: {
      case: "child",
      value: {
        ...{ workflow: "w", plan: plan.bytes, input: payload(1) },
        ...{ fingerprint: fingerprint(4), parentClose, runTimeoutMs: 0 },
      },
    },
  });

const closing = (how: "cancel" | "terminate"): EventBody =>
  obligationMade(0, {
    ...{ name: "", runId: childId },
    order: { case: how, value: { reason: "Its parent has ended.", child: 1 } },
  });

const ended: EventBody = {
  case: "childEnded",
  value: {
    ...{ obligation: 0, status: RunStatus.COMPLETED, output: payload(9), failure: undefined },
  },
};

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
const parent = (parentClose?: ParentClose): Scenario =>
  held().given(started(parentClose), obligationSettled());

describe("the id of a child", () => {
  const task = { task: "t/x", planVersion: 1 };
  const identity = { runId: "r 1", incarnation: 2, ...task, name: "n", key: undefined };

  it("follows from its parent's, its task, name and key", () => {
    expect(childRunId(identity, sha256)).toBe("r%201/2/t%2Fx/n");
    expect(childRunId({ ...identity, key: "é" }, sha256)).toBe("r%201/2/t%2Fx/n/%C3%A9");
  });

  it("is another one when a revision of the plan made another task of its task", () => {
    expect(childRunId({ ...identity, planVersion: 3 }, sha256)).toBe("r%201/2/t%2Fx@3/n");
  });

  it("is cut above 200 characters, and stays its own", () => {
    const long = childRunId({ ...identity, name: "x".repeat(200) }, sha256);
    const other = childRunId({ ...identity, name: `${"x".repeat(199)}y` }, sha256);
    expect([long.length, other.length]).toEqual([200, 200]);
    expect(long).toMatch(/^r%201\/2\/t%2Fx\/x+:[0-9a-f]{32}$/);
    expect(long).not.toBe(other);
  });
});

describe("a child run", () => {
  it("is started once under its name, and its start is forgotten when it is there", () => {
    const scenario = held();
    const { reply } = scenario.when(startChild(1)).records(started());
    expect(reply).toMatchObject({ existing: false, obligation: 0 });
    scenario.when(startChild(1)).isExisting();
    const order = { ...startChild(1).order, fingerprint: fingerprint(5) } as never;
    scenario.when(startChild(1, undefined, { order })).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(settleObligation()).records(obligationSettled());
    expect(scenario.state.obligations[0]?.declaration.order.value).toMatchObject({
      ...{ plan: undefined, input: undefined },
    });
    scenario.when(startChild(1)).isExisting();
  });

  it("wakes its parent's task with its end, the first one only", () => {
    const declared = {
      ...{ name: "child", dueAtMs: 0 },
      subject: { case: "child", value: { obligation: 0 } },
    } as const;
    const outcome = { case: "child", value: { obligation: 0 } } as const;
    const scenario = parent().given(suspended(0, 1, { opened: [declared], waits: [0] }));
    scenario.when(endChild()).records(ended, waitEnded(0, 0, outcome));
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.READY);
    expect(scenario.state.obligations[0]?.ended).toMatchObject({ output: payload(9) });
    scenario.when(endChild({ status: RunStatus.FAILED })).isExisting();
    parent()
      .given(ended)
      .when(suspend(1, { waits: [childWait()] }))
      .records(suspended(0, 1, { opened: [declared], waits: [0] }), waitEnded(0, 0, outcome));
  });

  it("that cannot be started ends the wait for it", () => {
    const { state } = held()
      .given(started())
      .when(settleObligation({ status: ObligationStatus.EXISTS }))
      .records(obligationSettled(ObligationStatus.EXISTS))
      .go();
    expect(state.openChildren.size).toBe(0);
  });

  it("is none whose id is another, or that nobody started", () => {
    parent()
      .when(endChild({ childRunId: "other" }))
      .rejects("PAWL_RUN_NOT_FOUND");
    parent()
      .when(endChild({ obligation: 3 }))
      .rejects("PAWL_RUN_NOT_FOUND");
    held()
      .given(obligationMade(1))
      .when(suspend(1, { waits: [childWait()] }))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("is not heard any more when its parent is over", () => {
    const scenario = parent(ParentClose.DETACH);
    scenario.commit([completed(0, 1)]);
    scenario.when(endChild()).rejects("PAWL_RUN_OVER");
  });
});

describe("a parent that ends", () => {
  it.each([
    ["cancels", ParentClose.CANCEL, "cancel"],
    ["terminates", ParentClose.TERMINATE, "terminate"],
  ] as const)("%s the children that are open", (_what, policy, how) => {
    parent(policy)
      .when(completeTask(1))
      .records(completed(0, 1))
      .andFollows(runClosed(RunStatus.COMPLETED), closing(how));
    parent(policy)
      .given(ended)
      .when(completeTask(1))
      .records(completed(0, 1))
      .andFollows(runClosed(RunStatus.COMPLETED));
  });

  it("leaves alone those that are detached", () => {
    parent(ParentClose.DETACH)
      .when(completeTask(1))
      .records(completed(0, 1))
      .andFollows(runClosed(RunStatus.COMPLETED));
  });

  it("does so also when it is terminated, and when it begins once more", () => {
    const scenario = parent();
    const { decision } = scenario.when(terminateRun());
    const followed = scenario.commit(decision.accepted ? decision.events : []);
    expect(followed).toEqual([closing("cancel")]);
    const again = parent();
    const restart = startRun(plan, { onExisting: OnExisting.REPLACE_OPEN, requestId: "two" });
    const { decision: restarted } = again.when(restart);
    const rest = again.commit(restarted.accepted ? restarted.events : []);
    expect(rest).toEqual([closing("cancel")]);
    expect(again.state).toMatchObject({ incarnation: 2, openChildren: new Set() });
  });
});

describe("a run that another started as its child", () => {
  const from = { run: 7, obligation: 2, runId: "parent" };
  const command = startRun(plan, { parent: from });
  const child = (): Scenario => {
    const scenario = Scenario.empty();
    scenario.when(command).records({
      case: "runStarted",
      value: {
        ...{ namespace: "default", runId: "r1", incarnation: 1, workflow: "w", plan: plan.bytes },
        ...{ input: undefined, fingerprint: fingerprint(1), labels: [], traceparent: "" },
        ...{ principal: "local", requestId: "", parent: from },
      },
    });
    return scenario;
  };

  it("exists for its parent, and for no other", () => {
    child().when(command).isExisting();
    child()
      .when({ ...command, parent: { ...from, obligation: 3 } })
      .rejects("PAWL_RUN_EXISTS");
    Scenario.ofOne().when(command).rejects("PAWL_RUN_EXISTS");
  });

  it("tells its parent of its end, with its output", () => {
    child()
      .given(leased(0, 1))
      .when(completeTask(1, { output: payload(5) }))
      .records(completed(0, 1, payload(5)))
      .andFollows(
        runClosed(RunStatus.COMPLETED),
        obligationMade(0, {
          ...{ name: "", runId: "parent" },
          order: {
            case: "ended",
            value: {
              ...{ child: 2, status: RunStatus.COMPLETED, output: payload(5), failure: undefined },
            },
          },
        }),
      );
  });
});
