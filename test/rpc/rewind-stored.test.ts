import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  newDisk,
  type ObservedKernel,
  openObserved,
  readMetrics,
} from "../observe/support/observed-kernel.js";
import { problemsOn } from "../support/problems-on.js";
import { claim, complete, json, leaseRef, oneTask, operation } from "./support/fixtures.js";

const { startRuns, getRun, rewindRun } = RunService.method;
const { intendOperation, observeOperation } = OperationService.method;
const { recordSteps } = WorkerService.method;

let disk: MemoryDisk;
let observed: ObservedKernel;

beforeEach(async () => {
  disk = await newDisk();
  observed = await openObserved(disk);
});
afterEach(() => observed.close());

/** Does the run's task once, with a step whose value is as long as `bytes`, and says what its intent was answered. */
async function work(bytes: number): Promise<string | undefined> {
  const { grpc } = observed;
  const offer = await claim(grpc, "k");
  const lease = leaseRef(offer);
  await grpc.unary(recordSteps, {
    lease,
    steps: [{ name: "draw", outcome: { case: "value", value: json("x".repeat(bytes)) } }],
  });
  const { answer } = await grpc.unary(intendOperation, {
    holder: lease,
    intentId: "i1",
    operation: operation("pay"),
  });
  const given = answer?.answer;
  if (given?.case === "proceed") {
    await grpc.unary(observeOperation, {
      key: given.value.key,
      intentId: "i1",
      holder: lease,
      observation: { outcome: { case: "result", value: json("paid") } },
    });
  }
  await complete(grpc, offer, "done");
  return given?.case;
}

const back = { runId: "r", requestId: "w1", to: { case: "event", value: 1 } } as const;

describe("the rows of a run that is rewound", () => {
  test.each([
    ["in one row", 10],
    ["in rows of their own", 6000],
  ])(
    "%s are those of its present generation, after a kill and after a stop",
    async (_how, bytes) => {
      await observed.grpc.unary(startRuns, { runs: [oneTask("r", "k")] });
      expect(await work(bytes)).toBe("proceed");
      await observed.close(); // All is in rows now.
      observed = await openObserved(disk);
      expect((await observed.grpc.unary(rewindRun, back)).existing).toBe(false);
      expect((await readMetrics(observed)).get("pawl_open_runs")).toBe(1);
      await observed.kill();
      observed = await openObserved(disk);
      expect((await observed.grpc.unary(rewindRun, back)).existing).toBe(true);
      expect((await readMetrics(observed)).get("pawl_open_runs")).toBe(1);
      expect(await work(bytes + 1)).toBe("reuse");
      await observed.close();
      expect(await problemsOn(disk)).toEqual([]);
      observed = await openObserved(disk);
      const { run } = await observed.grpc.unary(getRun, { runId: "r" });
      expect(run).toMatchObject({ generation: 2, status: RunStatus.COMPLETED });
    },
  );
});
