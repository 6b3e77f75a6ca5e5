import { localCaller } from "@pawl/server/core/caller.js";
import type { Command } from "@pawl/server/core/command.js";
import { Committer } from "@pawl/server/kernel/committer.js";
import { KernelClock } from "@pawl/server/kernel/kernel-clock.js";
import { Loop } from "@pawl/server/kernel/loop.js";
import { nodeClock, nodeTimers } from "@pawl/server/kernel/node-ports.js";
import { unsavedRuns } from "@pawl/server/kernel/open-kernel.js";
import type { Outcome, Target } from "@pawl/server/kernel/outcome.js";
import { PlanCache } from "@pawl/server/kernel/plan-cache.js";
import type { Clock, Random, Timers } from "@pawl/server/kernel/ports.js";
import { PositionCodec } from "@pawl/server/kernel/position.js";
import { Residency } from "@pawl/server/kernel/residency.js";
import type { Resident } from "@pawl/server/kernel/resident.js";
import { Checkpointer, type CheckpointOptions } from "@pawl/server/kernel/storage/checkpointer.js";
import { HistoryReader } from "@pawl/server/kernel/storage/history-reader.js";
import { Lists } from "@pawl/server/kernel/storage/lists.js";
import { type Recovery, recover } from "@pawl/server/kernel/storage/recovery.js";
import { StoredRuns } from "@pawl/server/kernel/storage/run-reader.js";
import { SetAside } from "@pawl/server/kernel/storage/set-aside.js";
import { StartUp } from "@pawl/server/kernel/storage/start-up.js";
import { Tombstones } from "@pawl/server/kernel/tombstones.js";
import { MemoryDisk, type MemoryStoreOptions } from "@pawl/server/log/memory-store.js";
import { genesisPuts } from "@pawl/server/log/meta.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import type { Store } from "@pawl/server/log/store.js";
import { noMeter } from "@pawl/server/observe/meter.js";
import { VirtualTime } from "./virtual-time.js";

/** Id of every store that tests make. */
export const testStoreId = "5f0c5a4e-3d1b-4c55-9d0a-6c1f0e8d2b71";

/** Secret of every store that tests make. */
export const testSecret: Uint8Array = new Uint8Array(32).fill(7);

/** The partition and epoch of every test store. */
export const testPartition = 0;
export const testFence: { readonly epoch: number } = { epoch: 1 };

/** Makes an empty store of a memory disk, as `createStore` does for a folder. */
export async function createMemoryStore(disk: MemoryDisk): Promise<void> {
  const store = disk.open();
  const puts = genesisPuts(testPartition, {
    format: 0,
    storeId: testStoreId,
    epoch: testFence.epoch,
    createdAtMs: 0,
  });
  await store.putRows({ puts, deletes: [], ranges: [] }, testFence);
  await store.close();
}

/** What the parts of a test kernel are put together with. */
export interface TestKernelOptions {
  readonly store: Store;
  readonly time: { readonly clock: Clock; readonly timers: Timers };
  readonly checkpoint?: CheckpointOptions;
  readonly observer?: CommitObserver;
}

/** Watches commits from outside. */
export interface CommitObserver {
  /** A turn was handed to the store; its runs have exactly the states that it holds. */
  handed(residents: readonly Resident[]): void;
  /** It is durable. */
  durable(residents: readonly Resident[]): void;
}

const evenRandom: Random = { fraction: () => 0.5, bytes: (count) => new Uint8Array(count) };

/** The parts of a kernel that stand behind the facade, open on a store. */
export class TestKernel {
  readonly store: Store;
  readonly recovery: Recovery;
  readonly loop: Loop;
  readonly residency: Residency;
  readonly runs: StoredRuns;
  readonly checkpointer: Checkpointer;
  readonly startUp: StartUp;
  readonly ready: Promise<void>;
  readonly lists: Lists;
  readonly history: HistoryReader;
  readonly tombstones: Tombstones;
  /** The error that ended it. */
  failure: Error | undefined;

  constructor(options: TestKernelOptions, recovery: Recovery) {
    const { store, time } = options;
    const { clock, timers } = time;
    const { partition, meta } = recovery;
    const { storeId, epoch } = meta.identity;
    this.store = store;
    this.recovery = recovery;
    const plans = new PlanCache();
    this.runs = new StoredRuns({ store, partition, tail: recovery.tail, plans: plans.recorded });
    this.residency = new Residency(this.runs);
    const committer = new Committer(store, { epoch }, recovery.head);
    const { residency, runs } = this;
    const setAside = new SetAside({ store, fence: { epoch }, partition });
    this.tombstones = new Tombstones({
      ...{ store, partition, areAny: recovery.areTombstones, now: () => this.loop.clock.now() },
    });
    const { tombstones } = this;
    const checkpointer = new Checkpointer({
      ...{ store, fence: { epoch }, recovery, residency, timers, setAside, tombstones },
      ...(options.checkpoint === undefined ? {} : { options: options.checkpoint }),
    });
    this.checkpointer = checkpointer;
    const loop = new Loop(
      {
        ...{ timers, random: evenRandom, residency, committer, plans },
        clock: new KernelClock(clock, recovery.lastRecordedMs),
        positions: new PositionCodec({
          ...{ storeId, epoch, partition, secret: testSecret },
          keptThrough: () => undefined,
        }),
        nextRunNumber: recovery.nextRunNumber,
        currentVersion: recovery.versions.current,
        retentionOf: recovery.retentions.of,
        tombstones: this.tombstones,
        observe: { clock, meter: noMeter },
        admit: () => undefined,
        isLagging: () => checkpointer.isLagging(),
      },
      {
        unsaved: (residents, bytes) => {
          options.observer?.handed(residents);
          checkpointer.unsaved(residents, bytes);
        },
        durable: (turn) => {
          options.observer?.durable(turn.touched);
          checkpointer.durable(turn);
        },
        failed: (error) => {
          this.failure = error;
          checkpointer.failed(error);
        },
      },
    );
    this.loop = loop;
    checkpointer.attach(loop, () => committer.pendingHead);
    this.startUp = new StartUp({ store, recovery, runs, loop, checkpointer, timers, setAside });
    this.ready = this.startUp.begin();
    this.lists = new Lists({
      ...{ store, partition, residency, runs, ready: this.ready },
      unsaved: () => this.unsavedRuns(),
    });
    const durableSequence = (): number => loop.durableSequence;
    this.history = new HistoryReader({ store, partition, residency, runs, durableSequence });
  }

  /** Opens a kernel on a store. */
  static async open(options: TestKernelOptions): Promise<TestKernel> {
    return new TestKernel(options, await recover(options.store, testPartition));
  }

  /** What lists look at in memory. */
  unsavedRuns(): Iterable<Resident> {
    return unsavedRuns(this.loop, this.checkpointer);
  }

  /** Decides a command; the promise gives its outcome once that is durable. */
  ask(target: Target, command: Command): Promise<Outcome> {
    const { promises } = this.loop;
    return new Promise((resolve, reject) => {
      const tag = promises.expect((outcome) => outcome, resolve, reject);
      this.loop.execute(target, command, localCaller, { receiver: promises, tag });
    });
  }

  /** A run in memory after it was read if need be. */
  async load(number: number): Promise<Resident | undefined> {
    for (;;) {
      const found = this.residency.find(number);
      if (!(found instanceof Promise)) {
        return found;
      }
      await found;
    }
  }

  /** Stops in order, as the facade does. */
  async close(): Promise<void> {
    await this.loop.drained();
    this.startUp.close();
    await this.checkpointer.close();
    await this.loop.drained();
    this.loop.close();
    await this.store.close();
  }
}

/** Opens a kernel on a data folder, with this machine's time. The folder is made if it is absent. */
export async function openFolderKernel(
  directory: string,
  checkpoint: CheckpointOptions = {},
): Promise<TestKernel> {
  const { store } = await openDataFolder(directory, { create: true });
  const time = { clock: nodeClock, timers: nodeTimers };
  return await TestKernel.open({ store, time, checkpoint });
}

/** A kernel on a memory disk with virtual time, and the means to crash it. */
export class MemoryKernel {
  readonly disk: MemoryDisk = new MemoryDisk();
  readonly time: VirtualTime = new VirtualTime();
  /** Given to every kernel that is opened. */
  observer: CommitObserver = { handed: () => undefined, durable: () => undefined };
  readonly #checkpoint: CheckpointOptions;
  #kernel: TestKernel | undefined;

  constructor(checkpoint: CheckpointOptions = {}) {
    this.#checkpoint = checkpoint;
  }

  /** The kernel that is open. */
  get kernel(): TestKernel {
    if (this.#kernel === undefined) {
      throw new Error("no kernel is open");
    }
    return this.#kernel;
  }

  /** Makes the store and opens a kernel on it. */
  static async create(checkpoint: CheckpointOptions = {}): Promise<MemoryKernel> {
    const memory = new MemoryKernel(checkpoint);
    await createMemoryStore(memory.disk);
    await memory.open();
    return memory;
  }

  /**
   * Opens a kernel on what the disk holds.
   *
   * @param wrap puts something between the kernel and its store.
   */
  async open(
    options: MemoryStoreOptions = {},
    wrap: (store: Store) => Store = (store) => store,
  ): Promise<TestKernel> {
    const { time } = this;
    this.#kernel = await TestKernel.open({
      store: wrap(this.disk.open({ epoch: testFence.epoch, ...options })),
      time: { clock: time, timers: time },
      checkpoint: this.#checkpoint,
      observer: this.observer,
    });
    return this.#kernel;
  }

  /** Cuts the power: writes that were not synced are gone, but for the first so many. */
  powerCut(keptWrites: number = 0): void {
    this.time.forget();
    this.disk.powerCut(keptWrites);
    this.#kernel = undefined;
  }

  /** Stops in order. */
  async close(): Promise<void> {
    const closing = this.kernel.close();
    let isClosed = false;
    const done = closing.then(() => {
      isClosed = true;
    });
    while (!isClosed) {
      await this.time.advance(1000);
    }
    await done;
    this.#kernel = undefined;
  }
}
