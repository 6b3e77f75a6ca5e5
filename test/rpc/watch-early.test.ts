import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createMemoryStore, testFence, testSecret } from "../support/kernel.js";
import { complete, leasedRun } from "./support/fixtures.js";
import { GrpcClient } from "./support/grpc-client.js";

let disk: MemoryDisk;
let kernel: Kernel;
let server: RunningServer;
let client: GrpcClient;

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
  kernel = await openKernel({ secret: testSecret, store: disk.open({ epoch: testFence.epoch }) });
  server = await startServer({ kernel, port: 0 });
  client = new GrpcClient(server.port);
});

afterEach(async () => {
  disk.holdWrites = false;
  disk.flush();
  client.close();
  await server.close({ drainMs: 0 });
  await kernel.close();
});

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a watch that begins while the end of its run is on its way to the disk sees that end", async () => {
  const offer = await leasedRun(client, "r");
  disk.holdWrites = true;
  const completing = complete(client, offer, "done");
  while (disk.heldWrites === 0) await nextTurn();

  const seen: string[] = [];
  const watching = (async () => {
    for await (const message of client.stream(RunService.method.watchRun, { runId: "r" })) {
      seen.push(...message.events.map(({ type }) => type), ...(message.closed ? ["closed"] : []));
    }
  })();
  while (seen.length < 2) await nextTurn();
  // Whatever the watch would say too early comes before the answer to a later question.
  await client.unary(AdminService.method.getServerInfo, {});
  expect(seen).toEqual(["RunStarted", "TaskLeased"]);

  disk.holdWrites = false;
  disk.flush();
  await Promise.all([completing, watching]);
  expect(seen).toEqual(["RunStarted", "TaskLeased", "TaskCompleted", "RunClosed", "closed"]);
});
