import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import type { Fault, FaultPlan, StoreCall } from "@pawl/server/log/fault-plan.js";
import { rangeOfKind, timerKey } from "@pawl/server/log/key.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { readPages } from "@pawl/server/log/store-scan.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaseRef } from "../rpc/support/fixtures.js";
import { timer } from "../rpc/support/wait-cases.js";
import { testFence, testPartition } from "../support/kernel.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { claimAndHold, claimNow, renew, startTask } from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const hourMs = 3_600_000;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});
afterEach(async () => {
  await clocked.close();
});

/** Rows are written as soon as they may be. */
const checkpoint = { beginAgeMs: 1, beginBytes: 1 };

/** Lets `good` calls of the store through, then fails one. */
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

/** Starts a run, takes its task, and gives it back until a timer of an hour is due. Rejects when the kernel dies before it said that it knows; some of its rows may be written later. */
async function arm(): Promise<void> {
  const { grpc } = clocked;
  await startTask(grpc, "r");
  const lease = leaseRef(await claimAndHold(grpc, "r"));
  const waits = [timer(hourMs)];
  await grpc.unary(work.suspend, { lease, seenThrough: 0, waits });
  await clocked.time.pass(2_000, 20);
}

/** The task comes when its time is over, and not before. */
async function expectToFire(): Promise<void> {
  const { grpc, time } = clocked;
  await time.pass(hourMs - 60_000, hourMs - 60_000);
  expect(await claimNow(grpc, "r")).toBeUndefined();
  await time.pass(61_000, 1_000);
  const offer = await claimAndHold(grpc, "r");
  expect(offer.outcomes.map(({ outcome }) => outcome.case)).toEqual(["timer"]);
  expect(await renew(grpc, offer)).toBeUndefined();
}

describe("a timer", () => {
  test("that was armed fires, whatever write the kernel died at meanwhile", async () => {
    let armedAndDied = 0;
    for (let good = 0; ; good++) {
      await clocked.close();
      clocked = await ClockedKernel.open();
      await clocked.kill();
      const faults = new FailAfter(good);
      await clocked.start({ faults, checkpoint }).catch(() => clocked.disk.crash());
      const isArmed = await arm().then(
        () => true,
        () => false,
      );
      await clocked.close();
      await clocked.start({ checkpoint });
      await clocked.kernel.openWorkKnown;
      if (isArmed) await expectToFire();
      if (isArmed && faults.hasFailed) armedAndDied++;
      if (!faults.hasFailed) break;
    }
    expect(armedAndDied).toBeGreaterThan(0);
  });

  test("whose entry in the index is gone is found by a check, and fires once its run is read", async () => {
    await clocked.kill();
    await clocked.start({ checkpoint });
    await arm();
    await clocked.kill();
    const store = clocked.disk.open({ epoch: testFence.epoch });
    const range = rangeOfKind(timerKey.kind, testPartition);
    const deletes: Uint8Array[] = [];
    for await (const page of readPages(store, range, 100))
      deletes.push(...page.map(({ key }) => key));
    expect(deletes).toHaveLength(1);
    await store.putRows({ puts: [], deletes, ranges: [] }, testFence);
    const meta = await readMeta(store, testPartition);
    const problems: string[] = [];
    for await (const report of verifyStore(store, { partition: testPartition, meta })) {
      if (report.kind === "problem") problems.push(report.message);
    }
    expect(problems).toEqual([expect.stringContaining("Expected an index row of run 1")]);
    await store.close();
    await clocked.start({ checkpoint });
    await clocked.kernel.openWorkKnown;
    expect((await clocked.grpc.unary(run.getRun, { runId: "r" })).run?.why).toContain("timer");
    await expectToFire();
  });
});
