import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { oneTask } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import { ClockedKernel } from "./support/clocked-kernel.js";

const { method: run } = RunService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

test("offers that were durable when the kernel died, and never arrived, are made again as soon as their worker is back", async () => {
  const count = 4_000;
  const timeouts = { lease: { seconds: 86_400n } };
  const runs = Array.from({ length: count }, (_, index) =>
    oneTask(`r${index}`, "k", { plan: { tasks: [{ name: "only", kind: "k", timeouts }] } }),
  );
  for (let from = 0; from < count; from += 1_000) {
    await clocked.grpc.unary(run.startRuns, { runs: runs.slice(from, from + 1_000) });
  }
  const first = await TestWorker.connect(clocked.grpc, {}, { credits: count });
  for (let received = 0; received < count; received++) await first.offer();
  await clocked.kill();
  await clocked.start();

  // It comes back before the kernel has read what is open, and has none of them: they got lost on the way.
  const again = await TestWorker.connect(clocked.grpc, {}, { credits: count });
  const offered = new Set<string>();
  while (offered.size < count) {
    const { runId, leaseVersion, attempt } = await again.offer();
    expect({ leaseVersion, attempt }).toEqual({ leaseVersion: 2, attempt: 1 });
    offered.add(runId);
  }
});
