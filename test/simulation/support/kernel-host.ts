import type { Kernel } from "@pawl/server/kernel/kernel.js";
import type { KernelApi } from "@pawl/server/kernel/kernel-api.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import type { Clock } from "@pawl/server/kernel/ports.js";
import { testSecret } from "../../support/kernel.js";
import type { SimDisk } from "./disk.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";
import type { Scheduler } from "./scheduler.js";
import type { KernelSettings } from "./settings.js";

/** What the host of the kernel needs of the simulation. */
export interface HostParts {
  readonly scheduler: Scheduler;
  readonly prng: Prng;
  readonly settings: KernelSettings;
  readonly process: Process;
  readonly disk: () => SimDisk;
  readonly complain: (text: string) => void;
  readonly note: (text: string) => void;
}

/** Some time in 2026. */
const startMs = 1_780_000_000_000;

/** Runs the product's kernel as `pawl serve` does: opens it, ends it when its store fails, opens it anew; and kills it when told. */
export class KernelHost {
  /** Lives begun. */
  lives = 0;
  /** Ends without a goodbye. */
  crashes = 0;
  readonly #parts: HostParts;
  #kernel: Kernel | undefined;
  #speaking: Kernel | undefined;
  #wallOffsetMs = 0;
  #isStopping = false;
  /** True once it was ended in order for good. */
  hasStopped = false;

  constructor(parts: HostParts) {
    this.#parts = parts;
  }

  /** The kernel that serves now. */
  get kernel(): Kernel | undefined {
    return this.#kernel;
  }

  /** True while what this kernel says is heard: not once its process is gone. */
  speaks(kernel: KernelApi): boolean {
    return this.#speaking === kernel;
  }

  /** Opens a kernel; when that does not end well, again after a while. */
  start(): void {
    const { process, complain, note } = this.#parts;
    process.begin();
    this.lives++;
    // A wall clock that was ahead is set right before a start: a start has nothing else to believe.
    this.#wallOffsetMs = Math.min(0, this.#wallOffsetMs);
    const { lives } = this;
    this.#open().catch((error: unknown) => {
      if (!process.isAlive || this.lives !== lives) {
        return; // It died while it started.
      }
      if (isStoreFailure(error)) {
        note("the start failed with its store");
        this.crash("a start that failed", false);
      } else {
        complain(`the kernel does not start: ${stackOf(error)}`);
      }
    });
  }

  async #open(): Promise<void> {
    const { process, prng, settings, complain, note } = this.#parts;
    const life = this.lives;
    const store = await this.#parts.disk().open();
    const kernel = await openKernel({
      store,
      secret: testSecret,
      clock: this.#clock(),
      timers: process,
      random: { fraction: () => prng.fraction(), bytes: (count) => prng.bytes(count) },
      checkpoint: settings.checkpoint,
      onFault: ({ runNumber, command, error }) =>
        complain(`a fault of the kernel at ${command} of run ${runNumber}: ${stackOf(error)}`),
    });
    if (!process.isAlive || this.lives !== life) {
      return;
    }
    note(`kernel ${life} serves`);
    this.#kernel = kernel;
    this.#speaking = kernel;
    if (this.#isStopping) {
      this.stop();
    }
    kernel.onFailed((error) => {
      if (this.#kernel === kernel) {
        note(`kernel ${life} failed: ${error.message}`);
        this.crash("a failed store", false);
      }
    });
  }

  /** Kills the process; a new one begins after a while. */
  crash(why: string, isPowerCut: boolean): void {
    const { process, scheduler, prng, note, disk } = this.#parts;
    if (!process.isAlive) {
      return;
    }
    note(`kernel ${this.lives} dies: ${why}`);
    this.crashes++;
    this.#kernel = undefined;
    this.#speaking = undefined;
    process.kill();
    disk().die(isPowerCut);
    scheduler.after(prng.around(300), () => this.start());
  }

  /** Ends the kernel in order, and begins another. Resolves when the first is closed. */
  async restart(): Promise<void> {
    const { note, process, complain } = this.#parts;
    const kernel = this.#kernel;
    if (kernel === undefined) {
      return;
    }
    note(`kernel ${this.lives} closes`);
    const { lives } = this;
    this.#kernel = undefined;
    try {
      await kernel.close();
    } catch (error) {
      if (process.isAlive && this.lives === lives && !isStoreFailure(error)) {
        complain(`the kernel does not close: ${String(error)}`);
      }
      this.crash("a close that failed", false);
      return;
    }
    if (process.isAlive && this.lives === lives) {
      process.kill();
      this.#speaking = undefined;
      this.hasStopped = this.#isStopping;
      if (!this.hasStopped) {
        this.start();
      }
    }
  }

  /** Ends the kernel in order, for good; when it dies at that, as soon as it serves again. */
  stop(): void {
    this.#isStopping = true;
    this.restart().catch((error: unknown) => this.#parts.complain(`stop: ${String(error)}`));
  }

  /** Makes the wall clock jump. */
  jumpWall(ms: number): void {
    this.#parts.note(`the wall clock jumps by ${ms} ms`);
    this.#wallOffsetMs = ms;
  }

  /** Hands something to the kernel that serves. Nobody hears when none does. */
  deliver(take: (kernel: KernelApi) => void): void {
    this.#parts.process.guard(() => {
      if (this.#kernel !== undefined) {
        take(this.#kernel);
      }
    })();
  }

  #clock(): Clock {
    const { scheduler } = this.#parts;
    const bootedMs = scheduler.nowMs;
    return {
      wallMs: () => startMs + scheduler.nowMs + this.#wallOffsetMs,
      monotonicMs: () => scheduler.nowMs - bootedMs,
    };
  }
}

function isStoreFailure(error: unknown): boolean {
  return error instanceof Error && (error.name === "StoreFailed" || error.name === "StoreClosed");
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
