import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting, RunService, type StartRun } from "@pawl/proto/v1/run_service_pb.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import type { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  newDisk,
  type ObservedKernel,
  openObserved,
  readMetrics,
} from "../observe/support/observed-kernel.js";
import { testFence, testPartition } from "../support/kernel.js";
import {
  claim,
  complete,
  json,
  jsonText,
  leaseRef,
  oneTask,
  operation,
} from "./support/fixtures.js";

const { startRuns, changeTask, getTask, getRun, getResult, getHistory, startAndAwait, watchRun } =
  RunService.method;
const { intendOperation, observeOperation, listOperations, getOperation } = OperationService.method;

let disk: MemoryDisk;
let observed: ObservedKernel;

beforeEach(async () => {
  disk = await newDisk();
  observed = await openObserved(disk);
});
afterEach(() => observed.close());

const again = (requestId: string, input?: Payload): StartRun =>
  oneTask("r", "k", {
    onExisting: OnExisting.RESTART_CLOSED,
    requestId,
    ...(input === undefined ? {} : { input }),
  });

async function start(run: StartRun): Promise<{ existing: boolean; incarnation: number }> {
  const { results } = await observed.grpc.unary(startRuns, { runs: [run] });
  const [result] = results;
  expect(result?.rejection).toBeUndefined();
  return { existing: result?.existing ?? true, incarnation: result?.incarnation ?? 0 };
}

/** Pays once and completes. */
async function work(output: string): Promise<string> {
  const { grpc } = observed;
  const offer = await claim(grpc, "k");
  const holder = leaseRef(offer);
  const pay = operation("pay", SinkKind.IDEMPOTENT);
  const intended = await grpc.unary(intendOperation, { holder, operation: pay, intentId: "i" });
  const key = intended.answer?.answer.value?.key ?? "";
  const observation = { outcome: { case: "result" as const, value: json({ paid: output }) } };
  await grpc.unary(observeOperation, { holder, key, intentId: "i", observation });
  await complete(grpc, offer, output);
  return key;
}

describe("a run that is started again", () => {
  test("is watched from its beginning to the end of its last incarnation", async () => {
    await start(oneTask("r", "k"));
    await work("first");
    await start(again("q1"));
    const types: string[] = [];
    const watched = (async () => {
      for await (const message of observed.grpc.stream(watchRun, { runId: "r" })) {
        types.push(...message.events.map(({ type }) => type));
        if (message.closed) return;
      }
    })();
    await expect.poll(() => types).toContain("RunRestarted");
    await work("second");
    await watched;
    expect(types.filter((type) => type === "RunClosed")).toHaveLength(2);
    expect(types.at(-1)).toBe("RunClosed");
  });

  test("runs once more under keys of its own, and its history has both", async () => {
    expect(await start(oneTask("r", "k"))).toEqual({ existing: false, incarnation: 1 });
    expect(await work("first")).toBe("task/default/r/1/only/pay/1");
    expect(await start(again("q1"))).toEqual({ existing: false, incarnation: 2 });
    expect(await start(again("q1"))).toEqual({ existing: true, incarnation: 2 });
    expect(await work("second")).toBe("task/default/r/2/only/pay/1");
    const { result } = await observed.grpc.unary(getResult, { runId: "r" });
    expect(result).toMatchObject({ incarnation: 2, status: RunStatus.COMPLETED });
    const events: string[] = [];
    const stream = observed.grpc.stream(getHistory, { runId: "r" });
    for await (const page of stream) {
      for (const event of page.events) {
        events.push([event.type, event.task, event.operationKey].filter(Boolean).join(" "));
      }
    }
    const of = (incarnation: number): string[] => [
      "TaskLeased only",
      `OperationIntended only task/default/r/${incarnation}/only/pay/1`,
      `OperationObserved task/default/r/${incarnation}/only/pay/1`,
      "TaskCompleted only",
      "RunClosed",
    ];
    expect(events).toEqual(["RunStarted", ...of(1), "RunRestarted", ...of(2)]);
  });

  test("names what each incarnation called its tasks, also when the next one has another plan", async () => {
    await start(oneTask("r", "k"));
    await work("first");
    const plan = { tasks: [{ name: "other", kind: "k" }], output: "other" };
    await start(oneTask("r", "k", { plan, onExisting: OnExisting.RESTART_CLOSED, requestId: "q" }));
    await complete(observed.grpc, await claim(observed.grpc, "k"), "second");
    const names: string[] = [];
    for await (const page of observed.json.stream(getHistory, { runId: "r" })) {
      for (const { type, task } of page.events) if (type === "TaskCompleted") names.push(task);
    }
    expect(names).toEqual(["only", "other"]);
  });

  test("is so over both clients, and gives whoever waits the result of the next incarnation", async () => {
    await start(oneTask("r", "k"));
    const waiting = observed.json.unary(getResult, { runId: "r", wait: { seconds: 30n } });
    const replacing = { onExisting: OnExisting.REPLACE_OPEN, requestId: "q" };
    const told = observed.grpc.stream(startAndAwait, { run: oneTask("r", "k", replacing) });
    const { value: first } = await told[Symbol.asyncIterator]().next();
    expect(first?.body).toMatchObject({ case: "started", value: { incarnation: 2 } });
    await work("second");
    expect((await waiting).result).toMatchObject({ incarnation: 2, status: RunStatus.COMPLETED });
  });

  test("whose input is the same document in other bytes does as its policy says", async () => {
    await start(oneTask("r", "k", { input: jsonText('{"a":1,"b":2}') }));
    await work("first");
    const other = jsonText('{ "b": 2, "a": 1 }');
    expect(await start(again("q1", other))).toEqual({ existing: false, incarnation: 2 });
    expect(await start(again("q1", other))).toEqual({ existing: true, incarnation: 2 });
  });
});

describe("a task of a run that is started again", () => {
  test("refuses an order that was decided about a task of an earlier incarnation, also after the kernel began anew", async () => {
    await start(oneTask("r", "k"));
    const { grpc } = observed;
    const seen = await grpc.unary(getTask, { runId: "r", task: "only" });
    expect(seen.task).toMatchObject({ status: TaskStatus.READY, version: 0 });
    const order = {
      ...{ runId: "r", task: "only", reason: "not wanted" },
      change: { case: "fail" as const, value: {} },
      expectedVersion: 0,
    };
    const failed = await grpc.unary(changeTask, order);
    expect(failed).toMatchObject({ existing: false, status: TaskStatus.FAILED });
    await start(again("q1"));
    const stale = { reason: "PAWL_STALE_VERSION" };
    await expect(grpc.unary(changeTask, order)).rejects.toMatchObject(stale);

    await observed.close();
    observed = await openObserved(disk);
    const { task } = await observed.grpc.unary(getTask, { runId: "r", task: "only" });
    expect(task?.status).toBe(TaskStatus.READY);
    expect(task?.version).toBeGreaterThan(failed.version);
    await expect(observed.grpc.unary(changeTask, order)).rejects.toMatchObject(stale);
    const meant = { ...order, expectedVersion: task?.version ?? 0 };
    const done = await observed.grpc.unary(changeTask, meant);
    expect(done).toMatchObject({ existing: false, status: TaskStatus.FAILED });
    expect((await observed.grpc.unary(changeTask, meant)).existing).toBe(true);
  });
});

describe("the rows of a run that is started again", () => {
  test("keep nothing of the earlier incarnation, and are whole after a kill and after a stop", async () => {
    await start(oneTask("r", "k"));
    const firstKey = await work("first");
    await observed.close(); // All is in rows now.
    observed = await openObserved(disk);
    await start(again("q1"));
    await observed.kill();
    observed = await openObserved(disk);
    expect(await start(again("q1"))).toEqual({ existing: true, incarnation: 2 });
    const secondKey = await work("second");
    expect((await readMetrics(observed)).get("pawl_open_runs")).toBe(0);
    await observed.close();
    const store = disk.open({ epoch: testFence.epoch });
    const meta = readMeta(store, testPartition);
    for await (const report of verifyStore(store, { partition: testPartition, meta })) {
      expect(report).not.toMatchObject({ kind: "problem" });
    }
    await store.close();
    observed = await openObserved(disk);
    const { operations } = await observed.grpc.unary(listOperations, {
      status: OperationStatus.OBSERVED,
    });
    expect(operations.map(({ key }) => key)).toEqual([secondKey]);
    await expect(observed.grpc.unary(getOperation, { key: firstKey })).rejects.toThrow(
      "PAWL_OPERATION_NOT_FOUND",
    );
    const { run } = await observed.grpc.unary(getRun, { runId: "r" });
    expect(run).toMatchObject({ incarnation: 2, status: RunStatus.COMPLETED });
  });
});
