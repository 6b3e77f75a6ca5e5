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

const pageRows = 200;

/** Candidates from the index rows under one prefix; what follows the prefix in a key is the place. */
export class IndexStream implements CandidateStream {
  readonly #store: Store;
  readonly #prefix: Uint8Array;
  readonly #order: PlaceOrder;
  readonly #read: (row: RowPut) => Candidate;
  #page: RowPut[] = [];
  #at = 0;
  #isAtEnd = false;
  #pages = 0;
  /** Key from which the next page is read, and whether the key itself belongs to it. */
  #from: { readonly key: Uint8Array; readonly isIncluded: boolean } | undefined;

  /** @param after place after which it begins; undefined: from the beginning. */
  constructor(parts: {
    readonly store: Store;
    readonly prefix: Uint8Array;
    readonly order: PlaceOrder;
    readonly after: Uint8Array | undefined;
    readonly read: (row: RowPut) => Candidate;
  }) {
    this.#store = parts.store;
    this.#prefix = parts.prefix;
    this.#order = parts.order;
    this.#read = parts.read;
    if (parts.after !== undefined) {
      this.#from = { key: this.#keyOf(parts.after), isIncluded: false };
    }
  }

  /** Pages read so far. */
  get pages(): number {
    return this.#pages;
  }

  /** Forgets what was read ahead: it is read again. */
  refresh(): void {
    const row = this.#page[this.#at];
    if (row !== undefined) {
      this.#from = { key: row.key, isIncluded: true };
    }
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
    this.#page = await this.#store.read({ ...bounds, limit: pageRows, reverse });
    this.#at = 0;
    this.#pages++;
    const last = this.#page.at(-1);
    this.#isAtEnd = this.#page.length < pageRows;
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
  { key, isIncluded }: { readonly key: Uint8Array; readonly isIncluded: boolean },
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
  #heads: (Candidate | undefined)[] = [];
  #first: Candidate | undefined;

  constructor(streams: readonly CandidateStream[], order: PlaceOrder) {
    this.#streams = streams;
    this.#order = order;
  }

  async first(): Promise<Candidate | undefined> {
    const heads: (Candidate | undefined)[] = [];
    for (const stream of this.#streams) {
      heads.push(await stream.first());
    }
    this.#heads = heads;
    this.#first = undefined;
    for (const head of heads) {
      const isBefore: boolean =
        head !== undefined &&
        (this.#first === undefined || this.#order(head.place, this.#first.place) < 0);
      this.#first = isBefore ? head : this.#first;
    }
    return this.#first;
  }

  skip(): void {
    for (const [index, stream] of this.#streams.entries()) {
      const head = this.#heads[index];
      const isSame =
        head !== undefined &&
        this.#first !== undefined &&
        this.#order(head.place, this.#first.place) === 0;
      if (isSame) {
        stream.skip();
      }
    }
  }

  seek(place: Uint8Array): void {
    for (const stream of this.#streams) {
      stream.seek(place);
    }
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
  #pages = 0;

  constructor(before: IndexStream, behind: readonly IndexStream[], order: PlaceOrder) {
    this.#before = before;
    this.#behind = behind;
    this.#union = new UnionStream([before, ...behind], order);
  }

  async first(): Promise<Candidate | undefined> {
    await this.#before.first();
    if (this.#before.pages !== this.#pages) {
      this.#pages = this.#before.pages;
      for (const stream of this.#behind) {
        stream.refresh();
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
