/** Rows in key order in memory. What the memory store's disk is made of. */

import { toHex } from "./bytes.js";
import type { PageRange, RowPut } from "./store.js";
import { PAGE_ROWS_DEFAULT } from "./store.js";

/** A sorted map from keys to values. Copies what goes in and what comes out. */
export class SortedRows {
  readonly #values = new Map<string, Uint8Array>();
  // Hex of bytes sorts as the bytes do. Keys of removed rows stay until they are many: taking each one out at once
  // would make a sweep quadratic.
  #keys: string[] = [];
  readonly #removed = new Set<string>();
  #bytes = 0;

  /** Number of rows. */
  get size(): number {
    return this.#values.size;
  }

  /** Bytes of keys and values. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The value of a key, or undefined. */
  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.#values.get(toHex(key));
    return value === undefined ? undefined : new Uint8Array(value);
  }

  /** Puts a row in place of one with the same key. */
  put(key: Uint8Array, value: Uint8Array): void {
    const hex = toHex(key);
    const isKnown = this.#values.has(hex) || this.#removed.delete(hex);
    if (!isKnown) this.#keys.splice(this.#positionOf(hex), 0, hex);
    this.#bytes += value.byteLength - (this.#values.get(hex)?.byteLength ?? -key.byteLength);
    this.#values.set(hex, new Uint8Array(value));
  }

  /** Removes a row; an absent one is fine. */
  delete(key: Uint8Array): void {
    const hex = toHex(key);
    const value = this.#values.get(hex);
    if (value === undefined) return;
    this.#values.delete(hex);
    this.#bytes -= key.byteLength + value.byteLength;
    this.#removed.add(hex);
    if (this.#removed.size <= this.#keys.length / 2) return;
    this.#keys = this.#keys.filter((kept) => this.#values.has(kept));
    this.#removed.clear();
  }

  /** One page of a range, as `Store.read` gives it. */
  read(range: PageRange): RowPut[] {
    const limit = range.limit ?? PAGE_ROWS_DEFAULT;
    const start = this.#positionOf(toHex(range.gte));
    const end = this.#positionOf(toHex(range.lt));
    const step = range.reverse === true ? -1 : 1;
    const rows: RowPut[] = [];
    for (
      let at = step === 1 ? start : end - 1;
      at >= start && at < end && rows.length < limit;
      at += step
    ) {
      const hex = this.#keys[at] ?? "";
      const value = this.#values.get(hex);
      if (value === undefined) continue;
      rows.push({ key: new Uint8Array(Buffer.from(hex, "hex")), value: new Uint8Array(value) });
    }
    return rows;
  }

  /** Where a key stands or would stand. */
  #positionOf(hex: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? "") < hex) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
