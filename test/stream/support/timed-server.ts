import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { startServer } from "@pawl/server/rpc/server.js";
import { SteeredTime } from "../../field-reports/support/steered-time.js";
import { GrpcClient } from "../../rpc/support/grpc-client.js";
import { createMemoryStore, testFence, testSecret } from "../../support/kernel.js";

/** A kernel and its edge whose timers all belong to the test. */
export interface TimedServer {
  readonly time: SteeredTime;
  readonly kernel: Kernel;
  readonly grpc: GrpcClient;
  readonly faults: readonly unknown[];
  close(): Promise<void>;
}

/** Opens one. */
export async function openTimedServer(): Promise<TimedServer> {
  const time = new SteeredTime();
  const disk = new MemoryDisk();
  await createMemoryStore(disk);
  const store = disk.open({ epoch: testFence.epoch });
  const kernel = await openKernel({ secret: testSecret, store, clock: time, timers: time });
  const faults: unknown[] = [];
  const onFault = (error: unknown): number => faults.push(error);
  const server = await startServer({ kernel, port: 0, timers: time, onFault });
  const grpc = new GrpcClient(server.port);
  return {
    ...{ time, kernel, grpc, faults },
    close: async () => {
      grpc.close();
      const closing = server.close({ drainMs: 0 });
      await time.pass(5_000, 500);
      await closing;
      await kernel.close();
    },
  };
}
