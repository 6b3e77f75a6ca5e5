import type { Kernel } from "@pawl/server/kernel/kernel.js";
import type { KernelApi } from "@pawl/server/kernel/kernel-api.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { Metrics } from "@pawl/server/observe/metrics.js";
import { type RunningServer, type ServeOptions, startServer } from "@pawl/server/rpc/server.js";
import { createMemoryStore, testFence, testSecret } from "../../support/kernel.js";
import { GrpcClient } from "./grpc-client.js";
import { JsonClient } from "./json-client.js";

/** A real kernel on a memory disk behind a real port, with a client of each protocol. */
export interface TestServer {
  readonly kernel: Kernel;
  readonly server: RunningServer;
  readonly grpc: GrpcClient;
  readonly json: JsonClient;
  readonly metrics: Metrics;
  /** Faults of the kernel's own code; a test that expects none leaves it empty. */
  readonly faults: { readonly error: unknown; readonly where: string }[];
  close(): Promise<void>;
}

/** What may differ from test to test. */
export interface TestServerOptions extends Partial<Omit<ServeOptions, "kernel">> {
  /** Puts something before the kernel. */
  readonly before?: (kernel: KernelApi) => KernelApi;
}

/** Opens one. */
export async function openTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { before = (behind) => behind, ...serve } = options;
  const disk = new MemoryDisk();
  await createMemoryStore(disk);
  const kernel = await openKernel({
    secret: testSecret,
    store: disk.open({ epoch: testFence.epoch }),
  });
  const faults: { error: unknown; where: string }[] = [];
  const metrics = new Metrics();
  const server = await startServer({
    port: 0,
    metrics,
    onFault: (error, where) => faults.push({ error, where }),
    ...serve,
    kernel: before(kernel),
  });
  const grpc = new GrpcClient(server.port);
  return {
    kernel,
    server,
    grpc,
    json: new JsonClient(server.port),
    metrics,
    faults,
    close: async () => {
      grpc.close();
      await server.close({ drainMs: 0 });
      await kernel.close();
    },
  };
}
