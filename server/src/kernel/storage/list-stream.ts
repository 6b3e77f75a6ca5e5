import { compareBytes, copyBytes } from "../../log/bytes.js";
import { keyAfter, rangeOfPrefix } from "../../log/key.js";
import type { RowPut, Store } from "../../log/store.js";

/** Something that a list may hold. */
export interface Candidate {
  /** Bytes by which the list is ordered. */
  readonly place: Uint8Array;
  readonly runNumber: number;
  /** Number of the part in its run; 0 for the run itself. */
  readonly number: number;
}

/** Compares places as a list orders them: negative when the first comes first. */
export type PlaceOrder = (a: Uint8Array, b: Uint8Array) => number;

/** Rising order of bytes. */
export const ascending: PlaceOrder = compareBytes;
/** Falling order of bytes. */
export const descending: PlaceOrder = (a, b) => compareBytes(b, a);

/** Candidates in the order of a list, looked at one by one. */
export interface CandidateStream {
  /** The one at hand; undefined at the end. */
  first(): Promise<Candidate | undefined>;
  /** Passes over the one at hand. */
  skip(): void;
  /** Passes over all that come before a place. */
  seek(place: Uint8Array): void;
}

/** Where a page begins. */
interface PageStart {
  readonly key: Uint8Array;
  /** Whether the key itself belongs to the page. */
  readonly isIncluded: boolean;
}

/** Candidates from the index rows under one prefix; what follows the prefix in a key is the place. */
export class IndexStream implements CandidateStream {
  readonly #store: Store;
  readonly #prefix: Uint8Array;
  readonly #order: PlaceOrder;
  readonly #read: (row: RowPut) => Candidate;
  readonly #pageRows: number;
  #page: RowPut[] = [];
  #at = 0;
  #isAtEnd = false;
  #pages = 0;
  /** Where the next page begins; undefined: at the beginning. */
  #from: PageStart | undefined;
  readonly #began: PageStart | undefined;

  /** @param after place after which it begins; undefined: from the beginning. */
  constructor(parts: {
    readonly store: Store;
    readonly prefix: Uint8Array;
    readonly order: PlaceOrder;
    readonly after: Uint8Array | undefined;
    /** Rows read at once. */
    readonly pageRows: number;
    readonly read: (row: RowPut) => Candidate;
  }) {
    this.#store = parts.store;
    this.#prefix = parts.prefix;
    this.#order = parts.order;
    this.#read = parts.read;
    this.#pageRows = parts.pageRows;
    this.#began =
      parts.after === undefined ? undefined : { key: this.#keyOf(parts.after), isIncluded: false };
    this.#from = this.#began;
  }

  /** Pages read so far. */
  get pages(): number {
    return this.#pages;
  }

  /** Forgets what was read ahead: it is read again, from behind a place (undefined: from where this began). */
  refresh(passed: Uint8Array | undefined): void {
    this.#from =
      passed === undefined ? this.#began : { key: this.#keyOf(passed), isIncluded: false };
    this.#page = [];
    this.#at = 0;
    this.#isAtEnd = false;
  }

  async first(): Promise<Candidate | undefined> {
    while (this.#at >= this.#page.length && !this.#isAtEnd) {
      await this.#nextPage();
    }
    const row = this.#page[this.#at];
    return row === undefined ? undefined : this.#read(row);
  }

  skip(): void {
    this.#at++;
  }

  seek(place: Uint8Array): void {
    while (this.#at < this.#page.length) {
      const row = this.#page[this.#at];
      if (row === undefined || this.#order(this.#placeOf(row.key), place) >= 0) {
        return;
      }
      this.#at++;
    }
    const isAhead =
      this.#from === undefined || this.#order(this.#placeOf(this.#from.key), place) < 0;
    if (isAhead) {
      this.#from = { key: this.#keyOf(place), isIncluded: true };
    }
  }

  async #nextPage(): Promise<void> {
    const range = rangeOfPrefix(this.#prefix);
    const from = this.#from;
    const reverse = this.#order === descending;
    const bounds = from === undefined ? range : { ...range, ...boundOf(from, reverse) };
    this.#page = await this.#store.read({ ...bounds, limit: this.#pageRows, reverse });
    this.#at = 0;
    this.#pages++;
    const last = this.#page.at(-1);
    this.#isAtEnd = this.#page.length < this.#pageRows;
    if (last !== undefined) {
      this.#from = { key: last.key, isIncluded: false };
    }
  }

  #keyOf(place: Uint8Array): Uint8Array {
    const key = new Uint8Array(this.#prefix.length + place.length);
    key.set(this.#prefix);
    key.set(place, this.#prefix.length);
    return key;
  }

  #placeOf(key: Uint8Array): Uint8Array {
    return copyBytes(key, this.#prefix.length, key.length);
  }
}

function boundOf(
  { key, isIncluded }: PageStart,
  reverse: boolean,
): { readonly gte: Uint8Array } | { readonly lt: Uint8Array } {
  // `lt` leaves its key out and `gte` takes it in, so one of each pair needs the key after.
  return reverse
    ? { lt: isIncluded ? keyAfter(key) : key }
    : { gte: isIncluded ? key : keyAfter(key) };
}

/** Candidates from a list in memory, which is in order. */
export class ListStream implements CandidateStream {
  readonly #list: readonly Candidate[];
  readonly #order: PlaceOrder;
  #at = 0;

  constructor(list: readonly Candidate[], order: PlaceOrder) {
    this.#list = list;
    this.#order = order;
  }

  first(): Promise<Candidate | undefined> {
    return Promise.resolve(this.#list[this.#at]);
  }

  skip(): void {
    this.#at++;
  }

  seek(place: Uint8Array): void {
    for (let next = this.#list[this.#at]; next !== undefined; next = this.#list[this.#at]) {
      if (this.#order(next.place, place) >= 0) {
        return;
      }
      this.#at++;
    }
  }
}

/** Every candidate of either stream, each once. */
export class UnionStream implements CandidateStream {
  readonly #streams: readonly CandidateStream[];
  readonly #order: PlaceOrder;
  #first: Candidate | undefined;
  /** The last place that was passed over: streams that read again may come back to it. */
  #passed: Uint8Array | undefined;

  constructor(streams: readonly CandidateStream[], order: PlaceOrder) {
    this.#streams = streams;
    this.#order = order;
  }

  /** The last place that was passed over. */
  get passed(): Uint8Array | undefined {
    return this.#passed;
  }

  async first(): Promise<Candidate | undefined> {
    let first: Candidate | undefined;
    for (const stream of this.#streams) {
      const head = await headBehind(stream, this.#passed, this.#order);
      const isBefore =
        head !== undefined && (first === undefined || this.#order(head.place, first.place) < 0);
      first = isBefore ? head : first;
    }
    this.#first = first;
    return first;
  }

  skip(): void {
    this.#passed = this.#first?.place ?? this.#passed;
  }

  seek(place: Uint8Array): void {
    for (const stream of this.#streams) {
      stream.seek(place);
    }
  }
}

/** The first candidate of a stream behind a place. */
async function headBehind(
  stream: CandidateStream,
  passed: Uint8Array | undefined,
  order: PlaceOrder,
): Promise<Candidate | undefined> {
  for (;;) {
    const head = await stream.first();
    if (head === undefined || passed === undefined || order(head.place, passed) > 0) {
      return head;
    }
    stream.skip();
  }
}

/**
 * Every candidate of an index whose rows move from one prefix (`before`) to one of others (`behind`) and never back, each once. A row that
 * moves while the list is read could be passed over, so what stands behind is never read earlier than what stood before it at the same
 * places: a page of `before` makes the others read again.
 */
export class MovingStream implements CandidateStream {
  readonly #before: IndexStream;
  readonly #behind: readonly IndexStream[];
  readonly #union: UnionStream;
  readonly #order: PlaceOrder;
  #pages = 0;

  constructor(before: IndexStream, behind: readonly IndexStream[], order: PlaceOrder) {
    this.#before = before;
    this.#behind = behind;
    this.#order = order;
    this.#union = new UnionStream([before, ...behind], order);
  }

  async first(): Promise<Candidate | undefined> {
    await headBehind(this.#before, this.#union.passed, this.#order);
    if (this.#before.pages !== this.#pages) {
      this.#pages = this.#before.pages;
      for (const stream of this.#behind) {
        stream.refresh(this.#union.passed);
      }
    }
    return await this.#union.first();
  }

  skip(): void {
    this.#union.skip();
  }

  seek(place: Uint8Array): void {
    this.#union.seek(place);
  }
}

/** Candidates that stand in both streams. */
export class IntersectionStream implements CandidateStream {
  readonly #left: CandidateStream;
  readonly #right: CandidateStream;
  readonly #order: PlaceOrder;

  constructor(left: CandidateStream, right: CandidateStream, order: PlaceOrder) {
    this.#left = left;
    this.#right = right;
    this.#order = order;
  }

  async first(): Promise<Candidate | undefined> {
    for (;;) {
      const left = await this.#left.first();
      const right = await this.#right.first();
      if (left === undefined || right === undefined) {
        return undefined;
      }
      const compared = this.#order(left.place, right.place);
      if (compared === 0) {
        return left;
      }
      if (compared < 0) {
        this.#left.seek(right.place);
      } else {
        this.#right.seek(left.place);
      }
    }
  }

  skip(): void {
    this.#left.skip();
    this.#right.skip();
  }

  seek(place: Uint8Array): void {
    this.#left.seek(place);
    this.#right.seek(place);
  }
}
