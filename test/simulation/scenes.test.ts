import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { ChangeTask, TaskChangeOrder } from "@pawl/server/core/command.js";
import type { Run, Task } from "@pawl/server/core/state.js";
import { describe, expect, it } from "vitest";
import { planOf } from "../core/support/plans.js";
import { payload } from "../core/support/values.js";
import { fingerprintOf } from "./support/contents.js";
import type { Director, Scene } from "./support/director.js";
import type { Instruction, OperationSpec, Workflow } from "./support/plans.js";
import { describeFailure } from "./support/report.js";
import { drawSettings, quietSettings, type Settings } from "./support/settings.js";
import { type SimulationResult, simulate } from "./support/simulation.js";

const runId = "run-0";
const isAsked = process.env["SIM_SEED"] !== undefined;

const mail: OperationSpec = {
  ...{ name: "mail", kind: SinkKind.RECONCILABLE, isOfRun: false },
  ...{ callTimeoutMs: 2_000, settleMs: 200, keyWindowMs: 0 },
};

/**
 * Its first task fails in these incarnations, with ten minutes of backoff; its second has an effect and then waits for a signal.
 */
const workflowFailingIn = (...incarnations: readonly number[]): Workflow => ({
  name: "w",
  plan: planOf(
    {
      first: {
        ...{ kind: "w.first", leaseMs: 4_000 },
        retry: {
          ...{ attemptsMax: 100, workerLossesMax: 100, jitter: 0 },
          ...{ initialMs: 600_000, intervalMsMax: 600_000 },
        },
      },
      second: {
        ...{ kind: "w.second", leaseMs: 4_000, needs: ["first"] },
        retry: { attemptsMax: 100, workerLossesMax: 100, initialMs: 10 },
      },
    },
    "second",
  ),
  code: new Map<string, readonly Instruction[]>([
    [
      "w.first",
      [
        { case: "step", name: "draw" },
        { case: "fail", incarnations },
      ],
    ],
    [
      "w.second",
      [
        { case: "perform", operation: mail },
        {
          ...{ case: "wait", name: "go" },
          waits: [
            {
              name: "go.a",
              key: undefined,
              subject: { case: "signal", signal: "go", timeoutMs: undefined },
            },
          ],
        },
      ],
    ],
  ]),
});

function change({ number, version }: Task, order: TaskChangeOrder): ChangeTask {
  return {
    ...{ kind: "ChangeTask", task: number, expectedVersion: version, reason: "by hand" },
    change: order,
    digest: fingerprintOf(order.case, `${version}`),
  };
}

function go(requestId: string) {
  return { name: "go", payload: payload(requestId), requestId };
}

function isSuspended({ status }: Task): boolean {
  return status === TaskStatus.SUSPENDED;
}

function isOver(incarnation: number, status: RunStatus): (run: Run) => boolean {
  return (run) => run.incarnation === incarnation && run.status === status;
}

/** An operator steps in, and the run begins again by each policy that begins one. */
const everyPolicy: Scene = async (director) => {
  const first = { task: 0, incarnation: 1 };
  // One that has failed, later than then: what a worker gives back waits as well, but not for long.
  const failsAfter = (seen: number) => (task: Task) =>
    task.status === TaskStatus.BACKOFF &&
    task.usedAttempts > 0 &&
    task.leaseEndReason !== LeaseEndReason.RETURNED &&
    task.version > seen;
  const tired = await director.untilTask(runId, first, failsAfter(0));
  await director.twice(runId, change(tired, { case: "attemptsReset" }));
  const rested = await director.untilTask(runId, first, failsAfter(tired.version));
  await director.twice(runId, change(rested, { case: "backoffSkipped" }));
  const again = await director.untilTask(runId, first, failsAfter(rested.version));
  await director.refused(runId, change(rested, { case: "failed" }), "PAWL_STALE_VERSION");
  await director.twice(runId, change(again, { case: "completed", output: payload("by hand") }));
  const waits = await director.untilTask(runId, { task: 1, incarnation: 1 }, isSuspended);
  await director.twice(runId, change(waits, { case: "failed" }));
  await director.until(runId, isOver(1, RunStatus.FAILED));
  await beginAgain(director);
};

async function beginAgain(director: Director): Promise<void> {
  const { RESTART_FAILED, RESTART_CLOSED, REPLACE_OPEN } = OnExisting;
  const failed = { onExisting: RESTART_FAILED, requestId: "two", signal: go("beside two") };
  await director.twice(runId, director.startOf(runId, failed));
  await director.until(runId, isOver(2, RunStatus.COMPLETED));
  // It did not fail: nothing begins.
  await director.refused(
    runId,
    director.startOf(runId, { ...failed, requestId: "none", signal: go("too late") }),
    "PAWL_RUN_OVER",
  );
  await director.twice(
    runId,
    director.startOf(runId, { onExisting: RESTART_CLOSED, requestId: "three" }),
  );
  const second = { task: 1, incarnation: 3 };
  await director.untilTask(runId, second, isSuspended);
  const order = { expectedVersion: undefined, reason: "look" };
  await director.twice(runId, { kind: "PauseRun", ...order, untaken: [] });
  await director.twice(runId, { kind: "SendSignal", ...go("paused"), expectedVersion: undefined });
  await director.twice(runId, { kind: "ResumeRun", ...order });
  await director.until(runId, isOver(3, RunStatus.COMPLETED));
  await director.twice(
    runId,
    director.startOf(runId, { onExisting: RESTART_CLOSED, requestId: "four" }),
  );
  await director.untilTask(runId, { task: 1, incarnation: 4 }, isSuspended);
  const replacing = { onExisting: REPLACE_OPEN, requestId: "five" };
  await director.twice(runId, director.startOf(runId, replacing));
  await director.untilTask(runId, { task: 1, incarnation: 5 }, isSuspended);
  await director.twice(runId, { kind: "SendSignal", ...go("last"), expectedVersion: undefined });
  await director.until(runId, isOver(5, RunStatus.COMPLETED));
}

/** Whose call is under way when its run is terminated may have an effect yet: until that is known nothing begins. */
const unsettled: Scene = async (director) => {
  const order = { expectedVersion: undefined, reason: "enough" };
  await director.until(runId, ({ operations: [one] }) => one?.callOpen === true);
  await director.twice(runId, { kind: "TerminateRun", ...order });
  const start = { onExisting: OnExisting.RESTART_CLOSED, requestId: "two" };
  await director.refused(runId, director.startOf(runId, start), "PAWL_OPERATIONS_UNSETTLED");
};

const load = {
  ...{ runs: 1, ledgerCallers: 0, cancelShare: 0, terminateShare: 0, runPauseEveryMs: 0 },
  ...{ messageEveryMs: 0, restarts: 0, restartEveryMs: 0, hasPerson: true },
  ...{ continueShare: 0, runTimeoutMs: 0 },
};

/** A room with nobody in it but who is in the scene. */
function roomLike(settings: Settings): Settings {
  return {
    ...settings,
    // A worker that dies leaves its credits behind, and a task that is offered to nobody backs off for ten minutes.
    worker: { ...settings.worker, failShare: 0, slots: 1 },
    sink: { ...settings.sink, refusedShare: 0 },
    load: { ...settings.load, ...load },
  };
}

const quiet = roomLike(quietSettings);
const withSlowSinks = roomLike({
  ...quietSettings,
  sink: { ...quietSettings.sink, callMs: 1_500 },
});

async function play(
  scene: Scene,
  parts: Partial<Parameters<typeof simulate>[0]> = {},
): Promise<SimulationResult> {
  const result = await simulate({
    ...{ seed: 5, settings: quiet, workflows: [workflowFailingIn(1)], scene },
    ...parts,
  });
  if (result.violations.length > 0) {
    throw new Error(describeFailure(result));
  }
  return result;
}

describe.skipIf(isAsked)(
  "a run that an operator steps into, and that begins again by every policy",
  () => {
    it("keeps its signals, repeats no effect and takes each request once", async () => {
      const { seen } = await play(everyPolicy);
      const expected = {
        ...{ "changed: attemptsReset": 1, "changed: backoffSkipped": 1 },
        ...{ "changed: completed": 1, "changed: failed": 1 },
        ...{
          runPaused: 1,
          runResumed: 1,
          "told PauseRun existing": 1,
          "told ResumeRun existing": 1,
        },
        ...{ runRestarted: 4, "told StartRun existing": 4 },
        ...{ "told start by 3 anew": 1, "told start by 4 anew": 1, "told start by 5 anew": 2 },
        ...{ "wait ended: signalTaken": 3, signalReceived: 3, operationIntended: 5 },
      };
      const actual = Object.keys(expected).map((what) => [what, seen.get(what)]);
      expect(Object.fromEntries(actual)).toEqual(expected);
    });

    it("does so from every write on at which the kernel dies", { timeout: 180_000 }, async () => {
      const { stats } = await play(everyPolicy);
      expect(stats.writes).toBeGreaterThan(50);
      for (let write = 1; write <= stats.writes; write++) {
        const when = write % 2 === 0 ? "before" : "after";
        const { seen } = await play(everyPolicy, { crashAt: { write, when, isPowerCut: true } });
        expect([write, seen.get("runRestarted")]).toEqual([write, 4]);
      }
    });

    it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
      "does so among the faults of seed %i",
      { timeout: 60_000 },
      async (seed) => {
        const settings = roomLike(drawSettings(seed));
        const { seen } = await play(everyPolicy, { seed, settings });
        expect(seen.get("runRestarted")).toBe(4);
      },
    );

    it("begins nothing while an effect of the one before may happen yet", async () => {
      const workflows = [workflowFailingIn()];
      const { seen } = await play(unsettled, { workflows, settings: withSlowSinks });
      expect([seen.get("runRestarted"), seen.get("runClosed")]).toEqual([undefined, 1]);
    });
  },
);
