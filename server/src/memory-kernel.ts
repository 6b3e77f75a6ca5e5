import { randomBytes, randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { EndingTimers } from "./kernel/ending-timers.js";
import type { Kernel } from "./kernel/kernel.js";
import { nodeTimers } from "./kernel/node-ports.js";
import { openKernel } from "./kernel/open-kernel.js";
import type { Clock, Timers } from "./kernel/ports.js";
import { MemoryDisk } from "./log/memory-store.js";
import { genesisPuts } from "./log/meta.js";
import type { Log } from "./observe/log.js";
import { type PortlessServer, startPortlessServer } from "./rpc/server.js";

/** The first epoch of a store. */
const FIRST_EPOCH = 1;

/** How a kernel in memory is opened. */
export interface MemoryKernelOptions {
  /** Its time. Whoever moves it decides when something is due. */
  readonly time: Clock & Timers;
  /** Told of every fault of the kernel's own code, and where it happened. */
  readonly onFault: (error: unknown, where: string) => void;
  /** Timers of what a kernel does for itself; all of a kernel's end when it is killed. Default: Node's. */
  readonly housekeeping?: Timers;
  /** Default: silent. */
  readonly log?: Log;
}

/** A whole kernel in memory: the same code as behind a port, on a disk that lives as long as this object. */
export class MemoryKernel {
  readonly #options: MemoryKernelOptions;
  readonly #disk = new MemoryDisk();
  readonly #secret = randomBytes(32);
  #open:
    | {
        readonly kernel: Kernel;
        readonly server: PortlessServer;
        readonly housekeeping: EndingTimers;
      }
    | undefined;

  private constructor(options: MemoryKernelOptions) {
    this.#options = options;
  }

  /** Makes an empty store and opens a kernel on it. */
  static async open(options: MemoryKernelOptions): Promise<MemoryKernel> {
    const memory = new MemoryKernel(options);
    const store = memory.#disk.open();
    const puts = genesisPuts(0, {
      format: 0,
      storeId: randomUUID(),
      epoch: FIRST_EPOCH,
      createdAtMs: options.time.wallMs(),
    });
    await store.putRows({ puts, deletes: [], ranges: [] }, { epoch: FIRST_EPOCH });
    await store.close();
    await memory.start(options.time);
    return memory;
  }

  /** True while a kernel is open. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Leases that are open. 0 while no kernel is. */
  get leases(): number {
    return this.#open?.kernel.gauges().leases ?? 0;
  }

  /** Tasks that wait to be tried again. 0 while no kernel is open. */
  get backoffs(): number {
    return this.#open?.kernel.gauges().backoffs() ?? 0;
  }

  /** Serves a connection of this process; cuts it when no kernel is open. */
  accept(connection: Duplex): void {
    if (this.#open === undefined) {
      connection.destroy();
    } else {
      this.#open.server.accept(connection);
    }
  }

  /**
   * Opens a kernel on what the disk holds, as a process does that was started anew.
   *
   * @param time Time of this kernel: a killed one must not be called back.
   */
  async start(time: Clock & Timers): Promise<void> {
    const { onFault, log, housekeeping: timers = nodeTimers } = this.#options;
    // What a kernel does for itself is no part of what a test waits for.
    const housekeeping = new EndingTimers(timers);
    const kernel = await openKernel({
      store: this.#disk.open({ epoch: FIRST_EPOCH }),
      secret: this.#secret,
      clock: time,
      timers: time,
      housekeeping,
      onFault: ({ error, command }) => onFault(error, command),
      ...(log === undefined ? {} : { log }),
    });
    const server = await startPortlessServer({
      kernel,
      onFault,
      ...(log === undefined ? {} : { log }),
    });
    this.#open = { kernel, server, housekeeping };
  }

  /** Kills it: the disk keeps what was handed to it, nobody is told anything, every connection is cut. */
  async kill(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    // A timer that is left would keep all that the dead kernel had in memory.
    open?.housekeeping.end();
    this.#disk.crash();
    await open?.server.close();
  }
}
