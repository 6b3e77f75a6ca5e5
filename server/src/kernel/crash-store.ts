import { blobKey, runKey, segmentKey, sweepKey } from "../log/key.js";
import type {
  Fence,
  KeyRange,
  PageRange,
  RowPut,
  RowsWrite,
  SegmentWrite,
  Store,
} from "../log/store.js";
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

  usedBytes(): Promise<number> {
    return this.#inner.usedBytes();
  }

  async compact(range: KeyRange, fence: Fence): Promise<void> {
    this.#points.hit("compact:before");
    const compacted = this.#inner.compact(range, fence);
    // A compaction takes long enough for a kill in its middle.
    setTimeout(() => this.#points.hit("compact:during"), 1);
    await compacted;
    this.#points.hit("compact:after");
  }

  close(): Promise<void> {
    this.#points.hit("close:before");
    return this.#inner.close();
  }
}

/** What a batch of rows is for: it removes segments, keeps content, removes a deleted run, removes content, or else is (a part of) a checkpoint. */
function pointsOf({ puts, deletes, ranges }: RowsWrite): readonly [CrashPoint, CrashPoint] {
  if (ranges.some(({ gte }) => gte[0] === segmentKey.kind)) {
    return ["trim:before", "trim:after"];
  }
  if (puts.some(({ key }) => key[0] === blobKey.kind)) {
    return ["blob:before", "blob:after"];
  }
  const isPurge = (key: Uint8Array | undefined): boolean =>
    key?.[0] === runKey.kind || key?.[0] === sweepKey.kind;
  if (puts.length === 0 && (isPurge(ranges[0]?.gte) || isPurge(deletes[0]))) {
    return ["purge:before", "purge:after"];
  }
  return puts.length === 0
    ? ["sweep:before", "sweep:after"]
    : ["checkpoint:before", "checkpoint:after"];
}
