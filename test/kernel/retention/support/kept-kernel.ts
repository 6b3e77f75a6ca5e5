import type { KeepTimesShape } from "@pawl/proto/log/v1/event_wire.js";
import { localCaller } from "@pawl/server/core/caller.js";
import type { Command } from "@pawl/server/core/command.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import type { Outcome, Target } from "@pawl/server/kernel/outcome.js";
import type { CheckpointOptions } from "@pawl/server/kernel/storage/checkpointer.js";
import type { FaultPlan } from "@pawl/server/log/fault-plan.js";
import { KINDS, rangeOfKind } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { readPages } from "@pawl/server/log/store-scan.js";
import {
  createMemoryStore,
  testFence,
  testPartition,
  testSecret,
} from "../../../support/kernel.js";
import { problemsOn } from "../../../support/problems-on.js";
import { VirtualTime } from "../../../support/virtual-time.js";

/** A whole kernel on a memory disk with virtual time, which can be stopped, killed and opened again. */
export class KeptKernel {
  readonly disk: MemoryDisk = new MemoryDisk();
  readonly time: VirtualTime = new VirtualTime();
  readonly #checkpoint: CheckpointOptions;
  #kernel: Kernel | undefined;

  constructor(checkpoint: CheckpointOptions = {}) {
    this.#checkpoint = checkpoint;
  }

  static async create(checkpoint: CheckpointOptions = {}): Promise<KeptKernel> {
    const kept = new KeptKernel(checkpoint);
    await createMemoryStore(kept.disk);
    await kept.open();
    return kept;
  }

  get kernel(): Kernel {
    if (this.#kernel === undefined) {
      throw new Error("no kernel is open");
    }
    return this.#kernel;
  }

  /** Opens a kernel on what the disk holds. */
  async open(faults?: FaultPlan): Promise<void> {
    const store = this.disk.open({
      epoch: testFence.epoch,
      ...(faults === undefined ? {} : { faults }),
    });
    const { time } = this;
    const opened = openKernel({
      ...{ store, secret: testSecret, clock: time, timers: time, checkpoint: this.#checkpoint },
      scrub: { firstAfterMs: 1e15 },
    });
    opened.catch(() => undefined); // Told below.
    await time.settle();
    this.#kernel = await opened;
    await time.settle();
  }

  /** Kills it: what was handed to the disk stays. */
  kill(): void {
    this.time.forget();
    this.disk.crash();
    this.#kernel = undefined;
  }

  /** Stops in order. */
  async close(): Promise<void> {
    const { time } = this;
    let isClosed = false;
    const closing = this.kernel.close().then(() => {
      isClosed = true;
    });
    while (!isClosed) {
      await time.advance(1);
    }
    await closing;
    this.#kernel = undefined;
  }

  /** Asks, and waits until the answer is durable. */
  async ask(target: Target, command: Command): Promise<Outcome> {
    const asked = this.kernel.ask(target, command, localCaller, (outcome) => outcome);
    asked.catch(() => undefined); // Told below.
    await this.time.settle();
    return await asked;
  }

  /** The reason of a refusal; `accepted`, or `existing`. */
  async reasonOf(target: Target, command: Command): Promise<string> {
    const outcome = await this.ask(target, command);
    if (!outcome.accepted) {
      return outcome.rejection.reason;
    }
    return outcome.reply.existing ? "existing" : "accepted";
  }

  /** Says how long `default` keeps what. */
  async keep(keep: KeepTimesShape): Promise<void> {
    const change = { namespace: "default", keep, expectedVersion: undefined };
    const changed = this.kernel.changeRetention(change, localCaller);
    await this.time.settle();
    await changed;
  }

  /** How many rows there are of each kind, those of the store and of its own run left out. Only while no kernel is open. */
  async rows(): Promise<Record<string, number>> {
    const store = this.disk.open({ epoch: testFence.epoch });
    const counts: Record<string, number> = {};
    for (const { kind, name } of KINDS) {
      for await (const page of readPages(store, rangeOfKind(kind, testPartition))) {
        const others = page.filter(({ key }) => !isOfStore(name, key));
        counts[name] = (counts[name] ?? 0) + others.length;
      }
    }
    await store.close();
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  /** What `pawl verify` finds. Only while no kernel is open. */
  problems(): Promise<string[]> {
    return problemsOn(this.disk);
  }
}

function isOfStore(name: string, key: Uint8Array): boolean {
  const isOfRun = name === "run" || name === "history chunk";
  return (
    name === "meta" ||
    name === "segment" ||
    (isOfRun && key.slice(3, 11).every((byte) => byte === 0))
  );
}
