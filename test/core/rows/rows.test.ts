import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { CorruptHistory } from "@pawl/server/core/apply/corrupt.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import {
  inlineRun,
  type RunRows,
  rowOfReview,
  splitRows,
} from "@pawl/server/core/rows/run-to-rows.js";
import { describe, expect, it } from "vitest";
import { Machine } from "../support/machine.js";
import { planOf } from "../support/plans.js";
import { fingerprint, payload } from "../support/values.js";

/** A chain of two tasks whose first is leased, has recorded two steps and intended an operation. */
function halfway(): Machine {
  const machine = new Machine();
  machine.start({
    kind: "StartRun",
    namespace: "default",
    runId: "r1",
    workflow: "w",
    plan: planOf({ first: {}, second: { needs: ["first"] } }),
    input: undefined,
    fingerprint: fingerprint(1),
    labels: [],
    traceparent: "",
    onExisting: OnExisting.UNSPECIFIED,
    requestId: "",
  });
  machine.do({ kind: "LeaseTask", task: 0, sessionId: "s1", worker: "w1" });
  for (const name of ["one", "two"]) {
    machine.do({
      kind: "RecordStep",
      task: 0,
      leaseVersion: 1,
      name,
      key: undefined,
      value: payload(name),
      failure: undefined,
      seenThrough: 0,
      read: false,
    });
  }
  machine.do({
    kind: "IntendOperation",
    namespace: "default",
    lease: { task: 0, leaseVersion: 1 },
    intentId: "i1",
    name: "mail",
    scope: OperationScope.TASK,
    key: undefined,
    target: "",
    payload: payload("dear"),
    fingerprint: fingerprint(2),
    sinkKind: SinkKind.OPAQUE,
    keyWindowMs: 0,
    settleMs: 5000,
    callTimeoutMs: 1000,
    seenThrough: 0,
  });
  return machine;
}

function restoring(rows: RunRows): () => unknown {
  return () => restoreRun(rows, compileRecordedPlan);
}

describe("rows of a run", () => {
  it("leave out the tasks that are as the plan made them", () => {
    const { state } = halfway();
    expect(splitRows(state).tasks.map(({ number }) => number)).toEqual([0]);
    expect(inlineRun(state, { count: 0, hash: new Uint8Array(0) }).tasks).toHaveLength(1);
  });

  it("say which chunks are written", () => {
    const hash = new Uint8Array(32).fill(9);
    const { run } = splitRows(halfway().state, { count: 4, hash });
    expect([run.chunkCount, run.chunkHash, run.split]).toEqual([4, hash, true]);
  });

  it("do not change when the run goes on", () => {
    const machine = halfway();
    const rows = splitRows(machine.state);
    const before = structuredClone(rows);
    machine.do({ kind: "TerminateRun", expectedVersion: undefined, reason: "now" });
    expect(machine.state.reviews).toHaveLength(1);
    expect(rows).toEqual(before);
  });

  it("keep a review's waiting tasks apart from the state's", () => {
    const review = {
      number: 0,
      subject: 1,
      operation: 0,
      task: 0,
      known: "nothing",
      openedAtMs: 1,
      resolvedAtMs: 0,
      choice: 0,
      reason: "",
      principal: "",
      result: undefined,
      version: 1,
      waitingTasks: [4],
      returned: undefined,
      askedFingerprint: undefined,
    } as const;
    expect(rowOfReview(review).waitingTasks).not.toBe(review.waitingTasks);
  });

  it("restore the first state of untouched tasks", () => {
    const { state } = halfway();
    const restored = restoreRun(splitRows(state), compileRecordedPlan);
    expect(restored.tasks[1]).toMatchObject({
      status: TaskStatus.BLOCKED,
      version: 0,
      openNeeds: 1,
    });
  });
});

describe("rows that do not fit together are refused", () => {
  const rows = splitRows(halfway().state);
  const [task] = rows.tasks;
  const [one, two] = rows.steps;
  const [operation] = rows.operations;
  if (task === undefined || one === undefined || two === undefined || operation === undefined) {
    throw new Error("the run lacks rows");
  }

  it.each<[string, RunRows]>([
    ["a lost operation", { ...rows, operations: [] }],
    ["a lost last step", { ...rows, steps: [one] }],
    ["a lost first step", { ...rows, steps: [two] }],
    ["steps out of order", { ...rows, steps: [two, one] }],
    ["a step twice", { ...rows, steps: [one, one] }],
    ["a task twice", { ...rows, tasks: [task, task] }],
    ["a task that the plan has not", { ...rows, tasks: [{ ...task, number: 2 }] }],
    ["a run without a plan", { ...rows, run: { ...rows.run, plan: undefined } }],
    [
      "an operation without declaration",
      { ...rows, operations: [{ ...operation, declaration: undefined }] },
    ],
  ])("%s", (_name, broken) => {
    expect(restoring(broken)).toThrow(CorruptHistory);
  });

  it("but sound ones are not", () => {
    expect(restoring(rows)).not.toThrow();
  });
});
