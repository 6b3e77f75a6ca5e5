import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { beginEpoch } from "@pawl/server/kernel/storage/begin-epoch.js";
import type { CheckpointOptions } from "@pawl/server/kernel/storage/checkpointer.js";
import type { FaultPlan } from "@pawl/server/log/fault-plan.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { GrpcClient } from "../../rpc/support/grpc-client.js";
import { createMemoryStore, testFence, testPartition, testSecret } from "../../support/kernel.js";
import { SteeredTime } from "./steered-time.js";

/** What may differ from start to start. */
export interface ClockedOptions {
  readonly faults?: FaultPlan;
  readonly checkpoint?: CheckpointOptions;
  /** What positions are signed with. Default: the same each time. */
  readonly secret?: Uint8Array;
}

/** A whole kernel behind a real port, with its time and its disk in the test's hands. */
export class ClockedKernel {
  readonly time: SteeredTime = new SteeredTime();
  readonly disk: MemoryDisk = new MemoryDisk();
  /** Faults of the kernel's own code. */
  readonly faults: unknown[] = [];
  #open: { kernel: Kernel; server: RunningServer; grpc: GrpcClient } | undefined;

  /** Makes the store and opens a kernel on it. */
  static async open(): Promise<ClockedKernel> {
    const clocked = new ClockedKernel();
    await createMemoryStore(clocked.disk);
    await clocked.start();
    return clocked;
  }

  get grpc(): GrpcClient {
    return this.#parts.grpc;
  }

  get kernel(): Kernel {
    return this.#parts.kernel;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#parts.server.port}`;
  }

  get #parts(): { kernel: Kernel; server: RunningServer; grpc: GrpcClient } {
    if (this.#open === undefined) throw new Error("no kernel is open");
    return this.#open;
  }

  /** Opens a kernel on what the disk holds. */
  async start(options: ClockedOptions = {}): Promise<void> {
    const { time, disk } = this;
    const { faults, checkpoint, secret = testSecret } = options;
    const kernel = await openKernel({
      store: disk.open({ epoch: testFence.epoch, ...(faults === undefined ? {} : { faults }) }),
      ...(checkpoint === undefined ? {} : { checkpoint }),
      secret,
      clock: time,
      timers: time,
      onFault: (fault) => this.faults.push(fault.error),
    });
    const onFault = (error: unknown): number => this.faults.push(error);
    const server = await startServer({ kernel, port: 0, onFault });
    this.#open = { kernel, server, grpc: new GrpcClient(server.port) };
  }

  /** Begins a new epoch of the store that no kernel has open, as `pawl restore` does. */
  async restore(): Promise<void> {
    const store = this.disk.open();
    const nowMs = this.time.wallMs();
    await beginEpoch(store, { partition: testPartition, nowMs, reason: "put back from a copy" });
    await store.close();
  }

  /** Another client in the place of the one that is gone. */
  reconnect(): void {
    const parts = this.#parts;
    this.#open = { ...parts, grpc: new GrpcClient(parts.server.port) };
  }

  /** Kills the kernel: the disk keeps what was handed to it, and nobody is told anything. */
  async kill(): Promise<void> {
    const { server, grpc } = this.#parts;
    this.disk.crash();
    this.time.forget();
    grpc.close();
    await server.close({ drainMs: 0 });
    this.#open = undefined;
  }

  /** Ends it, whether it is open or was killed. */
  async close(): Promise<void> {
    if (this.#open !== undefined) await this.kill();
  }
}
