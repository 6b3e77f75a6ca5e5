import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { RunFilter } from "@pawl/server/kernel/kernel-api.js";
import { Lists } from "@pawl/server/kernel/storage/lists.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { startRun } from "../../../core/support/commands.js";
import {
  createMemoryStore,
  TestKernel,
  testFence,
  testPartition,
} from "../../../support/kernel.js";
import { VirtualTime } from "../../../support/virtual-time.js";
import { HookedStore } from "./hooked-store.js";
import { onePlan, runOf } from "./one-run.js";

/** What happens to the world. */
export type Change =
  | { readonly kind: "start"; readonly workflow: string }
  | { readonly kind: "end"; readonly which: number; readonly how: "cancel" | "terminate" }
  | { readonly kind: "save" };

interface ModelRun {
  readonly runId: string;
  readonly number: number;
  readonly workflow: string;
  status: RunStatus;
}

/** A kernel with many runs, and a plain list that says what they are. */
export class ListedWorld {
  readonly time: VirtualTime = new VirtualTime();
  readonly #store: HookedStore;
  readonly #disk: MemoryDisk;
  #kernel: TestKernel | undefined;
  readonly #runs: ModelRun[] = [];
  /** Called after every change. */
  onChange: () => void = () => undefined;

  private constructor(disk: MemoryDisk, store: HookedStore) {
    this.#disk = disk;
    this.#store = store;
  }

  /** Lists that read two index rows at once, so that much may happen between. */
  get lists(): Lists {
    const { kernel } = this;
    const { store, residency, runs, ready } = kernel;
    return new Lists({
      ...{ store, partition: testPartition, residency, runs, ready, pageRows: 2 },
      unsaved: () => kernel.unsavedRuns(),
    });
  }

  static async create(): Promise<ListedWorld> {
    const disk = new MemoryDisk();
    await createMemoryStore(disk);
    const world = new ListedWorld(disk, new HookedStore(disk.open({ epoch: testFence.epoch })));
    await world.#open(world.#store);
    return world;
  }

  get kernel(): TestKernel {
    if (this.#kernel === undefined) {
      throw new Error("no kernel is open");
    }
    return this.#kernel;
  }

  /** Ids of the runs that match now, newest first. */
  matching(filter: RunFilter): string[] {
    return this.#runs
      .filter(({ status }) => filter.status === 0 || status === filter.status)
      .filter(({ workflow }) => filter.workflow === "" || workflow === filter.workflow)
      .map(({ runId }) => runId)
      .reverse();
  }

  async change(change: Change): Promise<void> {
    if (change.kind === "save") {
      await this.time.advance(1500);
    } else if (change.kind === "start") {
      await this.#start(change.workflow);
    } else {
      await this.#end(change.which, change.how);
    }
    this.onChange();
  }

  /** Has changes happen before pages of rows are read, one each. */
  interrupt(changes: readonly Change[]): void {
    const left = [...changes];
    let isChanging = false;
    this.#store.beforeRead = async () => {
      const next = isChanging ? undefined : left.shift();
      if (next !== undefined) {
        isChanging = true;
        await this.change(next);
        isChanging = false;
      }
    };
  }

  /** Starts the kernel afresh; what it finds it finds in rows and in the log. */
  async restart(): Promise<void> {
    this.time.forget();
    this.#disk.powerCut();
    await this.#open(new HookedStore(this.#disk.open({ epoch: testFence.epoch })));
  }

  async #open(store: HookedStore): Promise<void> {
    const checkpoint = { residentsMax: 3 };
    const time = { clock: this.time, timers: this.time };
    this.#kernel = await TestKernel.open({ store, time, checkpoint });
    await this.time.settle();
  }

  async #start(workflow: string): Promise<void> {
    const runId = `r${this.#runs.length}`;
    const asked = this.kernel.ask(runOf(runId), startRun(onePlan, { runId, workflow }));
    await this.time.settle();
    const outcome = await asked;
    if (!outcome.accepted) {
      throw new Error(outcome.rejection.message);
    }
    this.#runs.push({ runId, workflow, number: outcome.runNumber, status: RunStatus.RUNNING });
  }

  async #end(which: number, how: "cancel" | "terminate"): Promise<void> {
    const run = this.#runs[which % Math.max(1, this.#runs.length)];
    if (run === undefined || run.status !== RunStatus.RUNNING) {
      return;
    }
    const kind = how === "cancel" ? ("CancelRun" as const) : ("TerminateRun" as const);
    const command = { kind, expectedVersion: undefined, reason: "" };
    const asked = this.kernel.ask(runOf(run.runId), command);
    await this.time.settle();
    await asked;
    run.status = how === "cancel" ? RunStatus.CANCELLED : RunStatus.TERMINATED;
  }
}
