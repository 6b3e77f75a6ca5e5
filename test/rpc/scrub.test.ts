import { Health, HealthCheckResponse_ServingStatus } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { runKey } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { startServer } from "@pawl/server/rpc/server.js";
import { expect, test, vi } from "vitest";
import { createMemoryStore, testFence, testPartition, testSecret } from "../support/kernel.js";
import { oneTask } from "./support/fixtures.js";
import { GrpcClient } from "./support/grpc-client.js";
import { JsonClient } from "./support/json-client.js";
import { codeAndReason } from "./support/refusal.js";

const { method: run } = RunService;

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : error;

test("what the scrubber finds is told by info and health, and only its run is refused, over both protocols", async () => {
  const disk = new MemoryDisk();
  await createMemoryStore(disk);
  const kernel = await openKernel({
    secret: testSecret,
    store: disk.open({ epoch: testFence.epoch }),
    checkpoint: { beginAgeMs: 1 },
    scrub: { firstAfterMs: 1, restMs: 20 },
  });
  const faults: unknown[] = [];
  const server = await startServer({ kernel, port: 0, onFault: (error) => faults.push(error) });
  const grpc = new GrpcClient(server.port);
  const json = new JsonClient(server.port);
  const ofHealth: number[] = [];
  const watching = (async () => {
    for await (const { status } of grpc.stream(Health.method.watch, { service: "pawl.store" })) {
      ofHealth.push(status);
    }
  })().catch(() => undefined);
  try {
    await grpc.unary(run.startRuns, { runs: [oneTask("whole", "k"), oneTask("bad", "k")] });
    const key = runKey.encode({ partition: testPartition, runNumber: 2 });
    // In rows as soon as the checkpointer has been there.
    await vi.waitFor(() => expect(disk.flipBit(key, 300)).toBe(true), { timeout: 20_000 });
    for (const client of [grpc, json]) {
      await vi.waitFor(
        async () => {
          const { scrub } = await client.unary(AdminService.method.getServerInfo, {});
          expect(scrub?.findings).toMatchObject([{ stage: "rows", runNumber: 2n }]);
        },
        { timeout: 20_000 },
      );
      const refused = client.unary(run.getRun, { runId: "bad" }).catch(codeAndReason);
      expect(await refused).toBe("DATA_LOSS PAWL_STORE_DAMAGED");
      expect((await client.unary(run.getRun, { runId: "whole" })).run?.runId).toBe("whole");
      const ofStore = await client.unary(Health.method.check, { service: "pawl.store" });
      expect(ofStore.status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
      const ofAll = await client.unary(Health.method.check, { service: "" });
      expect(ofAll.status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    }
    await vi.waitFor(() =>
      expect(ofHealth).toEqual([
        HealthCheckResponse_ServingStatus.SERVING,
        HealthCheckResponse_ServingStatus.NOT_SERVING,
      ]),
    );
    expect(new Set(faults.map(codeOf))).toEqual(new Set(["PAWL_STORE_DAMAGED"]));
  } finally {
    grpc.close();
    await server.close({ drainMs: 0 });
    await watching;
    await kernel.close();
  }
});
