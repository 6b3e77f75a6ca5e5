import type { MessageShape } from "@bufbuild/protobuf";
import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { Fault, FaultPlan, StoreCall } from "@pawl/server/log/fault-plan.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaseRef, oneTask, operation } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { claimAndHold, report, startTask, taskOf } from "./support/leases.js";

const { method: run } = RunService;
const { method: ops } = OperationService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
});

/** Far above the pages and packs in which a start reads. */
const crowd = 3_000;

/** Everything is written into rows as soon as it may be, so that a start reads rows, tail and index. */
const checkpoint = { beginAgeMs: 1, beginBytes: 1 };

/** Lets `good` calls of the store through and fails the next one; says whether it came to that. */
class FailAfter implements FaultPlan {
  hasFailed = false;
  readonly #good: number;

  constructor(good: number) {
    this.#good = good;
  }

  before({ number }: StoreCall): Fault {
    this.hasFailed ||= number > this.#good;
    return number > this.#good ? "fail" : "ok";
  }
}

/** Opens a kernel whose store fails at some call of its start; gives how that was told. */
async function startFailing(faults: FailAfter): Promise<string> {
  try {
    await clocked.start({ faults, checkpoint });
  } catch (error) {
    // It has not opened at all: `pawl serve` ends with an error.
    clocked.disk.crash();
    return error instanceof Error ? `not opened: ${error.name}` : "not opened";
  }
  const failed = new Promise<string>((resolve) => {
    clocked.kernel.onFailed(({ name }) => resolve(`failed: ${name}`));
  });
  const known = clocked.kernel.openWorkKnown.then(
    () => "known",
    () => "not known",
  );
  const told = await Promise.race([failed, known]);
  if (told === "not known") return await failed;
  return told;
}

interface OpenTasks {
  readonly held: Offer;
  readonly doubtfulKey: string;
}

/** One of each kind of open work, and more than a start reads at once; most of it in rows, some in the tail only. */
async function makeOpenWork(): Promise<OpenTasks> {
  await clocked.kill();
  await clocked.start({ checkpoint });
  const { grpc } = clocked;
  for (const runId of ["ready", "leased", "doubtful", "delayed"]) await startTask(grpc, runId);
  const held = await claimAndHold(grpc, "leased");
  const { answer } = await grpc.unary(ops.intendOperation, {
    ...{ holder: leaseRef(await claimAndHold(grpc, "doubtful")), intentId: "i1" },
    operation: operation("wire", SinkKind.OPAQUE),
  });
  const failure = { failure: "not yet", retryAfterMs: 60_000 };
  await report(grpc, await claimAndHold(grpc, "delayed"), failure);
  for (let from = 0; from < crowd; from += 1_000) {
    const runs = Array.from({ length: 1_000 }, (_, index) => oneTask(`m${from + index}`, "many"));
    await grpc.unary(run.startRuns, { runs });
  }
  await clocked.time.pass(2_000, 20);
  for (const runId of ["tail-1", "tail-2"]) await startTask(grpc, runId);
  await clocked.kill();
  return { held, doubtfulKey: answer?.answer.value?.key ?? "" };
}

/** Starts once with each call of the store as the first that fails, until none is left; gives how each of those starts was told of it. */
async function failEverywhere(): Promise<string[]> {
  const told: string[] = [];
  for (let good = 0; ; good++) {
    const faults = new FailAfter(good);
    const how = await startFailing(faults);
    if (how.startsWith("failed")) {
      const asked = await startTask(clocked.grpc, `late-${good}`).catch(codeAndReason);
      expect(asked).toMatch(/^UNAVAILABLE /);
    }
    await clocked.close();
    if (!faults.hasFailed) {
      expect(how).toBe("known");
      return told;
    }
    told.push(how);
  }
}

async function expectAllOpen({ held, doubtfulKey }: OpenTasks): Promise<void> {
  const { grpc } = clocked;
  for (const runId of ["ready", "tail-1", "tail-2"]) {
    expect(await claimAndHold(grpc, runId)).toMatchObject({ runId, attempt: 1 });
  }
  expect(await report(grpc, held, { output: 1 })).toBe("accepted");
  expect([...clocked.kernel.gauges().queues()]).toMatchObject([{ kind: "many", ready: crowd }]);
  const { lines } = await grpc.unary(run.getRecoveryReport, { runId: "doubtful" });
  expect(lines.map((line) => [line.class, line.operationKey])).toEqual([
    [RecoveryClass.WAITING, ""],
    [RecoveryClass.WAITING, doubtfulKey],
  ]);
  // Its worker does not come back: what is unsettled is said, and stays so until somebody settles it.
  await clocked.time.pass(120_000, 500);
  const { operation: unsettled } = await grpc.unary(ops.getOperation, { key: doubtfulKey });
  expect(unsettled?.status).toBe(OperationStatus.IN_DOUBT);
  expect(await claimAndHold(grpc, "delayed")).toMatchObject({ attempt: 2 });
  expect((await taskOf(grpc, "doubtful")).attempt).toBe(1);
}

describe("a store that fails", () => {
  test("while a start reads what is open is told, wherever it fails: no run is taken for damaged, absent or done with, and the next start has an outcome for each", async () => {
    const open = await makeOpenWork();
    const told = await failEverywhere();
    expect(told.length).toBeGreaterThan(20);
    expect(new Set(told)).toEqual(new Set(["not opened: StoreFailed", "failed: StoreFailed"]));
    // A failing disk is no damage: nothing was set aside for it.
    expect(clocked.faults).toEqual([]);
    await clocked.start();
    await clocked.kernel.openWorkKnown;
    await expectAllOpen(open);
  });

  test("while it is only read ends the kernel as well: nobody is told that its code is at fault", async () => {
    for (let index = 0; index < 20; index++) await startTask(clocked.grpc, `r${index}`);
    await clocked.kill();
    for (const verb of ["read", "get"] as const) {
      let isArmed = false;
      const before = (call: StoreCall): Fault => (isArmed && call.verb === verb ? "fail" : "ok");
      await clocked.start({ faults: { before } });
      await clocked.kernel.openWorkKnown;
      isArmed = true;
      const ask = verb === "read" ? () => list() : () => startTask(clocked.grpc, "unknown");
      expect(await ask().catch(codeAndReason)).toMatch(/^(UNAVAILABLE )?PAWL_UNAVAILABLE$/);
      // The handle is dead, and so is the kernel: a supervisor starts another.
      expect(await failureOf()).toBe("StoreFailed");
      expect(await list().catch(codeAndReason)).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
      expect(clocked.faults).toEqual([]);
      await clocked.kill();
    }
    await clocked.start();
    expect((await list()).runs).toHaveLength(20);
  });
});

function list(): Promise<MessageShape<typeof run.listRuns.output>> {
  return clocked.grpc.unary(run.listRuns, {});
}

function failureOf(): Promise<string> {
  return new Promise((resolve) => clocked.kernel.onFailed(({ name }) => resolve(name)));
}
