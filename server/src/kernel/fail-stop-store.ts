import type {
  Fence,
  KeyRange,
  PageRange,
  RowPut,
  RowsWrite,
  SegmentWrite,
  Store,
} from "../log/store.js";
import { StoreFailed } from "../log/store-errors.js";

/**
 * Any store, telling of its first failure whoever met it. A kernel whose handle is dead must end, also when it was only reading a list: else
 * it would go on until the next commit, answering that its own code is at fault.
 */
export class FailStopStore implements Store {
  /** Told of each failure, before who met it is; the first one counts. */
  onFailed: (error: StoreFailed) => void = () => {};
  readonly #inner: Store;

  constructor(inner: Store) {
    this.#inner = inner;
  }

  append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    return this.#tell(this.#inner.append(segments, fence));
  }

  putRows(write: RowsWrite, fence: Fence): Promise<void> {
    return this.#tell(this.#inner.putRows(write, fence));
  }

  get(key: Uint8Array): Uint8Array | undefined {
    try {
      return this.#inner.get(key);
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  read(range: PageRange): Promise<RowPut[]> {
    return this.#tell(this.#inner.read(range));
  }

  freeBytes(): Promise<number> {
    return this.#tell(this.#inner.freeBytes());
  }

  usedBytes(): Promise<number> {
    return this.#tell(this.#inner.usedBytes());
  }

  compact(range: KeyRange, fence: Fence): Promise<void> {
    return this.#tell(this.#inner.compact(range, fence));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #tell<T>(call: Promise<T>): Promise<T> {
    return call.catch((error: unknown) => {
      this.#note(error);
      throw error;
    });
  }

  #note(error: unknown): void {
    if (error instanceof StoreFailed) {
      this.onFailed(error);
    }
  }
}
