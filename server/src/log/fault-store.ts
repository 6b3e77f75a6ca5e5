/** Any store, with faults put between it and its caller. For tests. */

import {
  type Fault,
  type FaultPlan,
  faultError,
  type StoreCall,
  type StoreVerb,
} from "./fault-plan.js";
import type {
  Fence,
  KeyRange,
  PageRange,
  RowPut,
  RowsWrite,
  SegmentWrite,
  Store,
} from "./store.js";
import { StoreGuard } from "./store-guard.js";

/** Keeps the port's rules itself after a fault it made: the store behind it never hears of the call. */
export class FaultStore implements Store {
  readonly #inner: Store;
  readonly #plan: FaultPlan;
  readonly #guard = new StoreGuard();
  readonly #verbCounts = new Map<StoreVerb, number>();
  #calls = 0;

  constructor(inner: Store, plan: FaultPlan) {
    this.#inner = inner;
    this.#plan = plan;
  }

  append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    const bytes = segments.reduce((sum, { value }) => sum + value.byteLength, 0);
    return this.#write("append", bytes, () => this.#inner.append(segments, fence));
  }

  putRows(write: RowsWrite, fence: Fence): Promise<void> {
    const bytes = write.puts.reduce((sum, { value }) => sum + value.byteLength, 0);
    return this.#write("putRows", bytes, () => this.#inner.putRows(write, fence));
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#guard.admit();
    this.#mayFail("read a row", this.#count("get", 0));
    return this.#inner.get(key);
  }

  async read(range: PageRange): Promise<RowPut[]> {
    this.#guard.admit();
    this.#mayFail("read a page of rows", this.#count("read", 0));
    return this.#inner.read(range);
  }

  async freeBytes(): Promise<number> {
    this.#guard.admit();
    return this.#inner.freeBytes();
  }

  async usedBytes(): Promise<number> {
    this.#guard.admit();
    return this.#inner.usedBytes();
  }

  compact(range: KeyRange, fence: Fence): Promise<void> {
    return this.#write("compact", 0, () => this.#inner.compact(range, fence));
  }

  async close(): Promise<void> {
    await this.#guard.drain();
    await this.#inner.close();
  }

  async #write(verb: StoreVerb, bytes: number, write: () => Promise<void>): Promise<void> {
    this.#guard.admit();
    const call = this.#count(verb, bytes);
    const fault = this.#plan.before(call);
    if (fault === "ok" || fault === "unknown-kept") await write();
    if (fault !== "ok") throw this.#guard.fail(verb, faultError(fault));
    this.#plan.after?.(call);
    // Another call may have met its fault meanwhile: nothing is acknowledged after that.
    const { failure } = this.#guard;
    if (failure !== undefined) throw failure;
  }

  #mayFail(during: string, call: StoreCall): void {
    const fault: Fault = this.#plan.before(call);
    if (fault !== "ok") throw this.#guard.fail(during, faultError(fault));
    this.#plan.after?.(call);
  }

  #count(verb: StoreVerb, bytes: number): StoreCall {
    this.#calls += 1;
    const numberOfVerb = (this.#verbCounts.get(verb) ?? 0) + 1;
    this.#verbCounts.set(verb, numberOfVerb);
    return { verb, number: this.#calls, numberOfVerb, bytes };
  }
}
