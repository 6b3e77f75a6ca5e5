import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { complete, leaseRef } from "../rpc/support/fixtures.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { claimAndHold, claimNow, eventsOf, startOf, startTask, taskOf } from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

/** What came to a kernel in the first moment in which its port was open. */
async function firstMoment(runId: string): Promise<{ existing: unknown; claims: number }> {
  const { grpc } = clocked;
  const [started, ...claims] = await Promise.all([
    grpc.unary(run.startRuns, { runs: [startOf(runId, {})] }),
    claimNow(grpc, runId),
    claimNow(grpc, runId),
    grpc.unary(run.startRuns, { runs: [startOf(runId, {})] }),
    claimNow(grpc, runId),
  ]);
  const claimed = claims.filter((claim) => claim?.$typeName === "pawl.v1.Offer");
  return { existing: started.results[0]?.existing, claims: claimed.length };
}

describe("a start and claims in the first moment of a kernel whose disk holds the same run", () => {
  test("never give a task to two, and never make a second run, in 60 restarts", async () => {
    for (let round = 0; round < 60; round++) {
      const runId = `ready-${round}`;
      await startTask(clocked.grpc, runId);
      await clocked.kill();
      await clocked.start();
      const { existing, claims } = await firstMoment(runId);
      expect({ existing, claims }).toSatisfy(
        (seen: { existing: boolean; claims: number }) => seen.existing && seen.claims <= 1,
      );
      const leased = (await eventsOf(clocked.grpc, runId)).filter((type) => type === "TaskLeased");
      expect(leased).toHaveLength(claims);
    }
  });

  test("leave it to the worker that had it before the kernel was killed", async () => {
    for (let round = 0; round < 20; round++) {
      const runId = `leased-${round}`;
      await startTask(clocked.grpc, runId);
      const offer = await claimAndHold(clocked.grpc, runId);
      await clocked.kill();
      await clocked.start();
      expect(await firstMoment(runId)).toEqual({ existing: true, claims: 0 });
      const { results } = await clocked.grpc.unary(work.renewLeases, {
        leases: [leaseRef(offer)],
      });
      expect(results[0]?.rejection).toBeUndefined();
      await complete(clocked.grpc, offer, round);
    }
  });

  test("find the task that was ready, once the kernel has read what is open", async () => {
    await startTask(clocked.grpc, "r");
    await clocked.kill();
    await clocked.start();
    expect(await claimAndHold(clocked.grpc, "r")).toMatchObject({ attempt: 1, leaseVersion: 1 });
    expect((await taskOf(clocked.grpc, "r")).leaseVersion).toBe(1);
  });
});
