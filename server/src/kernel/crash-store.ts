import { blobKey, segmentKey } from "../log/key.js";
import type { Fence, PageRange, RowPut, RowsWrite, SegmentWrite, Store } from "../log/store.js";
import type { CrashPoint, CrashPoints } from "./crash-points.js";

/** Any store, telling of every write before it begins and after it is durable. For crash tests. */
export class CrashStore implements Store {
  readonly #inner: Store;
  readonly #points: CrashPoints;

  constructor(inner: Store, points: CrashPoints) {
    this.#inner = inner;
    this.#points = points;
  }

  async append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    this.#points.hit("segment:before");
    await this.#inner.append(segments, fence);
    this.#points.hit("segment:after");
  }

  async putRows(write: RowsWrite, fence: Fence): Promise<void> {
    const [before, after] = pointsOf(write);
    this.#points.hit(before);
    await this.#inner.putRows(write, fence);
    this.#points.hit(after);
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

  close(): Promise<void> {
    this.#points.hit("close:before");
    return this.#inner.close();
  }
}

/** What a batch of rows is for: it removes segments, keeps content, or else is (a part of) a checkpoint. */
function pointsOf(write: RowsWrite): readonly [CrashPoint, CrashPoint] {
  const removed = [...write.deletes, ...write.ranges.map((range) => range.gte)];
  if (removed.some((key) => isOfKind(key, segmentKey.kind))) {
    return ["trim:before", "trim:after"];
  }
  const isContent = write.puts.every(({ key }) => isOfKind(key, blobKey.kind));
  return isContent && write.puts.length > 0
    ? ["blob:before", "blob:after"]
    : ["checkpoint:before", "checkpoint:after"];
}

function isOfKind(key: Uint8Array, kind: number): boolean {
  return key[0] === kind;
}
