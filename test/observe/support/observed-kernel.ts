import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import type { FaultPlan } from "@pawl/server/log/fault-plan.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { createLog, type LogOptions } from "@pawl/server/observe/log.js";
import { Metrics } from "@pawl/server/observe/metrics.js";
import { faultReporter } from "@pawl/server/rpc/observed.js";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { oneTask } from "../../rpc/support/fixtures.js";
import { GrpcClient } from "../../rpc/support/grpc-client.js";
import { JsonClient } from "../../rpc/support/json-client.js";
import { createMemoryStore, testFence, testSecret } from "../../support/kernel.js";

/** A real kernel with its port, whose log a test reads. It can be closed and opened again on the same disk. */
export interface ObservedKernel {
  readonly kernel: Kernel;
  readonly server: RunningServer;
  readonly grpc: GrpcClient;
  readonly json: JsonClient;
  /** Lines of the log so far. */
  readonly lines: string[];
  close(): Promise<void>;
  /** The process is killed: what was handed to the disk stays. */
  kill(): Promise<void>;
}

/** An empty disk. */
export async function newDisk(): Promise<MemoryDisk> {
  const disk = new MemoryDisk();
  await createMemoryStore(disk);
  return disk;
}

/** Opens one as `pawl serve` does. */
export async function openObserved(
  disk: MemoryDisk,
  { faults, ...options }: LogOptions & { readonly faults?: FaultPlan } = {},
): Promise<ObservedKernel> {
  const lines: string[] = [];
  const log = createLog({ level: "debug", ...options, write: (line) => lines.push(line) });
  const metrics = new Metrics();
  const kernel = await openKernel({
    store: disk.open({ epoch: testFence.epoch, ...(faults === undefined ? {} : { faults }) }),
    secret: testSecret,
    log,
    meter: metrics,
  });
  metrics.watchKernel(() => kernel.gauges());
  const server = await startServer({ kernel, port: 0, metrics, onFault: faultReporter(log) });
  const grpc = new GrpcClient(server.port);
  return {
    ...{ kernel, server, grpc, lines },
    json: new JsonClient(server.port),
    close: async () => {
      grpc.close();
      await server.close({ drainMs: 0 });
      await kernel.close();
    },
    kill: async () => {
      disk.crash();
      grpc.close();
      await server.close({ drainMs: 0 });
    },
  };
}

/** What `/metrics` says now: the value of each series by its name with labels. */
export async function readMetrics({ json }: ObservedKernel): Promise<Map<string, number>> {
  const text = await (await json.fetch("/metrics")).text();
  const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    series.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Starts runs of one task each. */
export async function startRuns(
  { grpc }: ObservedKernel,
  runIds: readonly string[],
): Promise<void> {
  const runs = runIds.map((runId) => oneTask(runId, `kind-${runId}`));
  await grpc.unary(RunService.method.startRuns, { runs });
}
