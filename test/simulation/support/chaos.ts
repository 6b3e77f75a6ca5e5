import type { SimDisk } from "./disk.js";
import type { KernelHost } from "./kernel-host.js";
import type { Network } from "./network.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";
import type { Scheduler } from "./scheduler.js";
import type { Settings } from "./settings.js";
import type { Sinks } from "./sinks.js";

/** A process that chaos may end, with how it begins again. */
export interface Victim {
  readonly process: Process;
  begin(): void;
}

/** What chaos acts on. */
export interface ChaosParts {
  readonly scheduler: Scheduler;
  readonly prng: Prng;
  readonly settings: Settings;
  readonly host: KernelHost;
  readonly kernelProcess: Process;
  readonly disk: SimDisk;
  readonly network: Network;
  readonly sinks: Sinks;
  readonly victims: readonly Victim[];
  readonly note: (text: string) => void;
}

/** Makes things go wrong until its time is over; then everything is left to heal. */
export class Chaos {
  /** True once it has ended. */
  isOver = false;
  readonly #parts: ChaosParts;

  constructor(parts: ChaosParts) {
    this.#parts = parts;
  }

  /** Begins. */
  begin(): void {
    const { scheduler, settings } = this.#parts;
    this.#troubleKernel();
    this.#troubleWorkers();
    scheduler.after(settings.chaosMs, () => this.#end());
  }

  #troubleKernel(): void {
    const { prng, host, kernelProcess, disk, note, scheduler } = this.#parts;
    const { kernel } = this.#parts.settings;
    this.#again(kernel.crashEveryMs, () => host.crash("at any moment", prng.chance(0.5)));
    this.#again(kernel.restartEveryMs, () => {
      host.restart().catch((error: unknown) => note(`restart: ${String(error)}`));
    });
    this.#again(kernel.pauseEveryMs, () => {
      note("the kernel is paused");
      kernelProcess.freeze(prng.around(kernel.pauseMs));
    });
    this.#again(kernel.fillEveryMs, () => {
      note("the disk is full");
      disk.disk.freeBytes = 0;
      scheduler.after(prng.around(4_000), () => {
        disk.disk.freeBytes = Number.MAX_SAFE_INTEGER;
      });
    });
    if (kernel.wallJumps) {
      this.#again(10_000, () =>
        host.jumpWall(prng.pick([-3_600_000, -20_000, 0, 20_000, 3_600_000])),
      );
    }
  }

  #troubleWorkers(): void {
    const { prng, network, victims, note, scheduler } = this.#parts;
    const { worker } = this.#parts.settings;
    for (const victim of victims) {
      const { process } = victim;
      const { name } = process;
      this.#again(worker.crashEveryMs, () => {
        if (process.isAlive) {
          note(`${name} dies`);
          process.kill();
          scheduler.after(prng.around(1_500), () => victim.begin());
        }
      });
      this.#again(worker.freezeEveryMs, () => {
        note(`${name} freezes`);
        process.freeze(prng.around(worker.freezeMs));
      });
      this.#again(worker.cutEveryMs, () => {
        note(`${name} is cut off`);
        network.cut(name);
        scheduler.after(prng.around(worker.cutMs), () => network.heal(name));
      });
    }
  }

  #again(everyMs: number, act: () => void): void {
    if (everyMs === 0) {
      return;
    }
    const { scheduler, prng } = this.#parts;
    scheduler.after(prng.around(everyMs), () => {
      if (!this.isOver) {
        act();
        this.#again(everyMs, act);
      }
    });
  }

  #end(): void {
    const { network, disk, sinks, note } = this.#parts;
    note("faults end");
    this.isOver = true;
    network.isCalm = true;
    disk.isCalm = true;
    sinks.isCalm = true;
  }
}
