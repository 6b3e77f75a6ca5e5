import type { PageRequest } from "./kernel-api.js";

/** The items of a page in the making, bounded in count and in bytes. */
export class PageRows<T> {
  readonly items: T[] = [];
  readonly #page: Omit<PageRequest<T>, "token">;
  #bytes = 0;

  constructor(page: Omit<PageRequest<T>, "token">) {
    this.#page = page;
  }

  /** Adds an item unless the page is full; false when it is. The first is always added. */
  add(make: () => T): boolean {
    const { size, bytesMax = Number.POSITIVE_INFINITY, bytesOf } = this.#page;
    const isFirst = this.items.length === 0;
    if (!isFirst && (this.items.length >= size || this.#bytes >= bytesMax)) {
      return false;
    }
    const item = make();
    const bytes = bytesOf?.(item) ?? 0;
    if (!isFirst && this.#bytes + bytes > bytesMax) {
      return false;
    }
    this.#bytes += bytes;
    this.items.push(item);
    return true;
  }
}
