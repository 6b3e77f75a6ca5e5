import { Health, HealthCheckResponse_ServingStatus } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { beginEpoch } from "@pawl/server/kernel/storage/begin-epoch.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { afterEach, expect, test } from "vitest";
import { createMemoryStore, testPartition, testSecret } from "../support/kernel.js";
import { oneTask } from "./support/fixtures.js";
import { GrpcClient } from "./support/grpc-client.js";
import { JsonClient } from "./support/json-client.js";
import { codeAndReason } from "./support/refusal.js";
import type { RpcClient } from "./support/rpc-client.js";

const { method: run } = RunService;
const protocols = ["grpc", "json"] as const;

/** A store that may lose what it acknowledged, and the kernel on it. */
class Lossy {
  #disk = new MemoryDisk();
  #open: { kernel: Kernel; server: RunningServer; grpc: GrpcClient } | undefined;

  get client(): { readonly grpc: RpcClient; readonly json: RpcClient } {
    if (this.#open === undefined) {
      throw new Error("no kernel is open");
    }
    const { grpc, server } = this.#open;
    return { grpc, json: new JsonClient(server.port) };
  }

  async create(): Promise<void> {
    this.#disk = new MemoryDisk();
    await createMemoryStore(this.#disk);
  }

  async start(): Promise<void> {
    const kernel = await openKernel({ secret: testSecret, store: this.#disk.open() });
    const onFault = (error: unknown): never => {
      throw error;
    };
    const server = await startServer({ kernel, port: 0, onFault });
    this.#open = { kernel, server, grpc: new GrpcClient(server.port) };
  }

  async stop(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) {
      open.grpc.close();
      await open.server.close({ drainMs: 0 });
      await open.kernel.close();
    }
  }

  /** What was written since the store was made is gone, as after a disk that lied; the kernel starts again. */
  async loseAll(): Promise<void> {
    await this.stop();
    await this.create();
    await this.start();
  }

  async beginEpoch(): Promise<void> {
    await this.stop();
    const store = this.#disk.open();
    await beginEpoch(store, { partition: testPartition, nowMs: 1, reason: "accepted" });
    await store.close();
    await this.start();
  }
}

const lossy = new Lossy();

afterEach(() => lossy.stop());

async function startRun(client: RpcClient, runId: string): Promise<Uint8Array> {
  const { position } = await client.unary(run.startRuns, { runs: [oneTask(runId, "k")] });
  return position;
}

/** What a watch with a position comes to: its refusal, or nothing. */
async function watch(client: RpcClient, position: Uint8Array): Promise<string> {
  try {
    for await (const _first of client.stream(run.watchRuns, { position })) {
      return "watches";
    }
    return "ended";
  } catch (error) {
    return codeAndReason(error) ?? String(error);
  }
}

async function begin(): Promise<void> {
  await lossy.create();
  await lossy.start();
}

test.each(protocols)(
  "over %s: an acknowledged position beyond the head makes the kernel read-only until an operator decides",
  async (protocol) => {
    await begin();
    const acknowledged = await startRun(lossy.client[protocol], "r");
    await lossy.loseAll();
    const client = lossy.client[protocol];
    expect(await watch(client, acknowledged)).toBe("DATA_LOSS PAWL_DATA_LOSS");

    const refused = await client.unary(run.startRuns, { runs: [oneTask("s", "k")] });
    expect(refused.results[0]?.rejection?.reason).toBe("PAWL_READ_ONLY");
    const cancel = client.unary(run.cancelRun, { runId: "r" }).catch(codeAndReason);
    expect(await cancel).toBe("UNAVAILABLE PAWL_READ_ONLY");
    const { readOnlyReason } = await client.unary(AdminService.method.getServerInfo, {});
    expect(readOnlyReason).toContain("something acknowledged is gone");
    const { status } = await client.unary(Health.method.check, { service: "" });
    expect(status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
    expect((await client.unary(run.listRuns, {})).runs).toEqual([]);

    await lossy.stop();
    await lossy.start();
    const again = lossy.client[protocol];
    expect((await again.unary(AdminService.method.getServerInfo, {})).readOnlyReason).not.toBe("");

    await lossy.beginEpoch();
    const after = lossy.client[protocol];
    expect(await watch(after, acknowledged)).toBe("ABORTED PAWL_STORE_REWOUND");
    const position = await startRun(after, "r");
    expect(await watch(after, position)).toBe("watches");
    const info = await after.unary(AdminService.method.getServerInfo, {});
    expect(info).toMatchObject({ storeEpoch: 2, readOnlyReason: "" });
  },
);

test.each(protocols)(
  "over %s: an acknowledged position in the middle of a log that went another way is a loss as well",
  async (protocol) => {
    await begin();
    const acknowledged = await startRun(lossy.client[protocol], "r");
    await lossy.loseAll();
    for (const runId of ["a", "b", "c"]) {
      await startRun(lossy.client[protocol], runId);
    }
    expect(await watch(lossy.client[protocol], acknowledged)).toBe("DATA_LOSS PAWL_DATA_LOSS");
  },
);

test("a position that is held is served, at the head and behind it, also after a restart", async () => {
  await begin();
  const first = await startRun(lossy.client.grpc, "a");
  const second = await startRun(lossy.client.grpc, "b");
  expect(await watch(lossy.client.grpc, second)).toBe("watches");
  await lossy.stop();
  await lossy.start();
  expect(await watch(lossy.client.grpc, first)).toBe("watches");
  expect(await watch(lossy.client.grpc, second)).toBe("watches");
});
