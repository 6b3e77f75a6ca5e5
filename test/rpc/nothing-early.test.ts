import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMemoryStore, testFence, testSecret } from "../support/kernel.js";
import { claim, complete, leasedRun, leaseRef, oneTask, operation } from "./support/fixtures.js";
import { GrpcClient } from "./support/grpc-client.js";
import { emit, TestReader } from "./support/output.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;

let disk: MemoryDisk;
let kernel: Kernel;
let server: RunningServer;
let client: GrpcClient;

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
  // No checkpoint comes in between: whatever the disk holds back is a commit.
  const checkpoint = { beginAgeMs: 3_600_000, beginBytes: 1e9, lagBytes: 1e9 };
  kernel = await openKernel({
    secret: testSecret,
    store: disk.open({ epoch: testFence.epoch }),
    checkpoint,
  });
  server = await startServer({ kernel, port: 0 });
  client = new GrpcClient(server.port);
});

afterEach(async () => {
  letGo();
  client.close();
  await server.close({ drainMs: 0 });
  await kernel.close();
});

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What the disk was handed is not durable until `letGo`; resolves when something was handed to it. */
async function untilHeld(): Promise<void> {
  while (disk.heldWrites === 0) await nextTurn();
}

function letGo(): void {
  disk.holdWrites = false;
  disk.flush();
}

/** Asked one after the other: what a request is on its way through takes the kernel a few turns of its loop. */
const QUESTIONS = 10;

/**
 * Fails when `told` is settled before the disk has what it says. An answer that had left would have come before those to
 * questions that are asked later on the same connection.
 */
async function expectHeldBack<T>(told: Promise<T>): Promise<T> {
  let isTold = false;
  const settled = (): void => {
    isTold = true;
  };
  told.then(settled, settled);
  await untilHeld();
  for (let question = 0; question < QUESTIONS; question++) {
    await client.unary(AdminService.method.getServerInfo, {});
    await nextTurn();
  }
  expect(isTold).toBe(false);
  letGo();
  return await told;
}

function startRun(runId: string): Promise<unknown> {
  return client.unary(run.startRuns, { runs: [oneTask(runId, "k")] });
}

describe("while what it says is not durable, nobody is told", () => {
  test("that a run has started", async () => {
    disk.holdWrites = true;
    await expectHeldBack(startRun("a"));
  });

  test("that a run exists, neither to a repeated start nor to a read", async () => {
    disk.holdWrites = true;
    const first = startRun("a");
    await untilHeld();
    const again = startRun("a");
    const read = client.unary(run.getRun, { runId: "a" });
    const earliest = Promise.race([first, again, read]);
    await expectHeldBack(earliest);
    await expect(again).resolves.toMatchObject({ results: [{ existing: true }] });
    await expect(read).resolves.toMatchObject({ run: { status: RunStatus.RUNNING } });
  });

  test("of a task that is given to a worker", async () => {
    const worker = await TestWorker.connect(client, {}, { credits: 1 });
    disk.holdWrites = true;
    const starting = startRun("a");
    await expectHeldBack(worker.offer());
    await starting;
    worker.stream.call.cancel();
  });

  test("that it may call a sink", async () => {
    const offer = await leasedRun(client, "a");
    disk.holdWrites = true;
    const intending = client.unary(OperationService.method.intendOperation, {
      holder: leaseRef(offer),
      intentId: "i1",
      operation: operation("pay"),
    });
    const { answer } = await expectHeldBack(intending);
    expect(answer?.answer.case).toBe("proceed");
  });

  test("that a report was taken, nor the result that it makes", async () => {
    const offer = await leasedRun(client, "a");
    const waiting = client.unary(run.getResult, { runId: "a", wait: { seconds: 10n } });
    disk.holdWrites = true;
    const reporting = complete(client, offer, "done");
    await expectHeldBack(Promise.race([reporting, waiting]));
    await expect(waiting).resolves.toMatchObject({ result: { status: RunStatus.COMPLETED } });
    await reporting;
  });

  test("of an event that is watched", async () => {
    await startRun("a");
    const watching = client.stream(run.watchRun, { runId: "a" })[Symbol.asyncIterator]();
    await watching.next();
    disk.holdWrites = true;
    const cancelling = client.unary(run.cancelRun, { runId: "a" });
    const next = await expectHeldBack(watching.next());
    expect(next.value.events.length).toBeGreaterThan(0);
    await cancelling;
    await watching.return?.(undefined);
  });
});

describe("live output tells nothing of tasks that is not durable", () => {
  test("that a task has ended, to those who read its output", async () => {
    const offer = await leasedRun(client, "a");
    const reader = await TestReader.open(client, { runId: "a", task: "only" });
    await emit(client, offer, [1]);
    expect(await reader.take(1)).toEqual(["only 1.1 #1: 1"]);
    disk.holdWrites = true;
    const done = complete(client, offer, "done");
    expect(await expectHeldBack(reader.rest())).toEqual(["end only COMPLETED"]);
    await done;
  });

  test("that a task begins again, to those who read its output", async () => {
    const offer = await leasedRun(client, "a");
    const reader = await TestReader.open(client, { runId: "a", task: "only" });
    await emit(client, offer, [1]);
    expect(await reader.take(1)).toEqual(["only 1.1 #1: 1"]);
    const released = client.unary(WorkerService.method.releaseTask, { lease: leaseRef(offer) });
    await released;
    disk.holdWrites = true;
    const again = claim(client, "kind-a");
    expect(await expectHeldBack(reader.take(1))).toEqual(["reset only 1.2"]);
    await again;
  });
});
