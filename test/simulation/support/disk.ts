import type { Fault, FaultPlan, StoreCall } from "@pawl/server/log/fault-plan.js";
import { segmentKey } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import type {
  Fence,
  KeyRange,
  PageRange,
  RowPut,
  RowsWrite,
  SegmentWrite,
  Store,
} from "@pawl/server/log/store.js";
import { createMemoryStore, testFence, testPartition } from "../../support/kernel.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";
import type { KernelSettings } from "./settings.js";
import { keyOfSegment, type ShadowLog } from "./shadow-log.js";

/** When the kernel's process is to die by itself: at one write, before it or after it took effect. */
export interface CrashWrite {
  /** Counts writes over all lives from 1. */
  readonly write: number;
  readonly when: "before" | "after";
  /** True: what was not synced is gone. False: the machine goes on, so it is kept. */
  readonly isPowerCut: boolean;
}

/** What the disk needs of the simulation. */
export interface DiskParts {
  readonly prng: Prng;
  readonly settings: KernelSettings;
  /** The kernel's process: syncs end only while it lives. */
  readonly process: Process;
  readonly shadow: ShadowLog;
  /** The process is to die now. */
  readonly crash: (why: string, isPowerCut: boolean) => void;
  readonly crashAt: CrashWrite | undefined;
  /** Put between the store and the kernel: a planted fault. Default: nothing. */
  readonly wrap: (store: Store) => Store;
  readonly note: (text: string) => void;
}

/** The machine's disk: the product's own memory disk with its faults, syncs that take time, and a witness of what became durable. */
export class SimDisk {
  /** True: nothing goes wrong any more. */
  isCalm = false;
  /** Store calls over all lives, and the writes among them. */
  calls = 0;
  writes = 0;
  readonly disk: MemoryDisk = new MemoryDisk({ holdWrites: true });
  readonly #parts: DiskParts;
  #handles = 0;

  constructor(parts: DiskParts) {
    this.#parts = parts;
  }

  /** Makes the store. */
  async create(): Promise<void> {
    this.disk.holdWrites = false;
    await createMemoryStore(this.disk);
    this.disk.holdWrites = true;
  }

  /** Compares what it holds with the witness's log, and opens it for a new life of the kernel. */
  async open(): Promise<Store> {
    const bare = this.disk.open({ epoch: testFence.epoch });
    const rows: RowPut[] = [];
    const range = segmentKey.range({ partition: testPartition });
    rows.push(...(await bare.read({ ...range, limit: 1_000_000 })));
    await bare.close();
    this.#parts.shadow.compare(rows);
    const handle = ++this.#handles;
    const numbers = new Map<StoreCall, number>();
    // What a process that is gone still does in its last moments is nobody's.
    const isCurrent = (): boolean => handle === this.#handles && this.#parts.process.isAlive;
    const faults: FaultPlan = {
      before: (call) => {
        // Giving room back changes no row; that it may fail is the store contract's.
        if (!isCurrent() || call.verb === "compact") {
          return "ok";
        }
        const isWrite = call.verb === "append" || call.verb === "putRows";
        this.writes += isWrite ? 1 : 0;
        numbers.set(call, isWrite ? this.writes : 0);
        return this.#before(call, isWrite);
      },
      after: (call) => {
        const write = numbers.get(call);
        numbers.delete(call);
        if (isCurrent() && write !== undefined) {
          this.#after(write);
        }
      },
    };
    const store = this.disk.open({ epoch: testFence.epoch, faults });
    return this.#parts.wrap(new WitnessedStore(store, this.#parts.shadow));
  }

  /** The process is gone: what was handed over is kept whole, or the power is cut and some of it is. */
  die(isPowerCut: boolean): void {
    const { heldWrites } = this.disk;
    if (isPowerCut) {
      const kept = this.#parts.prng.below(heldWrites + 1);
      this.#parts.note(`power cut: ${kept} of ${heldWrites} writes kept`);
      this.disk.powerCut(kept);
    } else {
      this.disk.crash();
    }
  }

  #before(call: StoreCall, isWrite: boolean): Fault {
    const { settings, prng, process, crash, crashAt, note } = this.#parts;
    this.calls++;
    if (isWrite) {
      const isStalled = !this.isCalm && prng.chance(settings.stallShare);
      const syncMs = isStalled ? prng.around(5_000) : prng.fraction() * settings.syncMs;
      process.after(syncMs, () => this.disk.flush(1));
    }
    if (isWrite && crashAt?.write === this.writes && crashAt.when === "before") {
      crash(`before write ${this.writes} (${call.verb})`, crashAt.isPowerCut);
      return "ok";
    }
    if (this.isCalm) {
      return "ok";
    }
    if (isWrite && prng.chance(settings.crashAtCallShare)) {
      crash(`before ${call.verb}`, prng.chance(0.5));
      return "ok";
    }
    if (prng.chance(isWrite ? settings.faultShare : settings.faultShare / 20)) {
      const fault = prng.pick<Fault>(["fail", "enospc", "unknown-kept", "unknown-lost"]);
      note(`disk: ${call.verb} ends ${fault}`);
      return fault;
    }
    return "ok";
  }

  #after(write: number): void {
    const { settings, prng, crash, crashAt } = this.#parts;
    if (crashAt?.write === write && crashAt.when === "after") {
      crash(`after write ${write}`, crashAt.isPowerCut);
    } else if (!this.isCalm && prng.chance(settings.crashAtCallShare / 2)) {
      crash("after a store call", prng.chance(0.5));
    }
  }
}

/** Tells the witness of every segment that is durable, before the kernel hears of it. */
class WitnessedStore implements Store {
  readonly #inner: Store;
  readonly #shadow: ShadowLog;

  constructor(inner: Store, shadow: ShadowLog) {
    this.#inner = inner;
    this.#shadow = shadow;
  }

  async append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    const rows = segments.map(({ firstSequence, value }) => ({
      key: keyOfSegment(firstSequence),
      value: new Uint8Array(value),
    }));
    await this.#inner.append(segments, fence);
    for (const row of rows) {
      this.#shadow.add(row);
    }
  }

  putRows(write: RowsWrite, fence: Fence): Promise<void> {
    return this.#inner.putRows(write, fence);
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#inner.get(key);
  }

  read(range: PageRange): Promise<RowPut[]> {
    return this.#inner.read(range);
  }

  freeBytes(): Promise<number> {
    return this.#inner.freeBytes();
  }

  usedBytes(): Promise<number> {
    return this.#inner.usedBytes();
  }

  compact(range: KeyRange, fence: Fence): Promise<void> {
    return this.#inner.compact(range, fence);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
