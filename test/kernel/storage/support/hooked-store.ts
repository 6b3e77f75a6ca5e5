import type {
  Fence,
  KeyRange,
  PageRange,
  RowPut,
  RowsWrite,
  SegmentWrite,
  Store,
} from "@pawl/server/log/store.js";

/** A store that lets something happen before a page of rows is read. */
export class HookedStore implements Store {
  readonly #inner: Store;
  /** Called before every read of a page. */
  beforeRead: (range: PageRange) => Promise<void> = () => Promise.resolve();

  constructor(inner: Store) {
    this.#inner = inner;
  }

  append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    return this.#inner.append(segments, fence);
  }

  putRows(write: RowsWrite, fence: Fence): Promise<void> {
    return this.#inner.putRows(write, fence);
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#inner.get(key);
  }

  async read(range: PageRange): Promise<RowPut[]> {
    await this.beforeRead(range);
    return await this.#inner.read(range);
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
