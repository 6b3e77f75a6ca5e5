/** Most items in one message: the kernel's own bound. */
export const ITEMS_MAX = 1_000;

/** At so many bytes a message is full: below the kernel's 4 MiB with room to spare. */
export const MESSAGE_BYTES = 3_400_000;

/** Something that takes room in a message. */
export interface Sized {
  /** Its encoded length in bytes, at least roughly and never much too little. */
  readonly bytes: number;
}

/** Items in order of sending, given out in messages of bounded size. */
export class SendQueue<Item extends Sized> {
  #items: Item[] = [];
  #head = 0;

  get isEmpty(): boolean {
    return this.#head === this.#items.length;
  }

  /** Items that wait. */
  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Bytes of the first; 0 when there is none. */
  get nextBytes(): number {
    return this.#items[this.#head]?.bytes ?? 0;
  }

  /** Adds one at the end. */
  push(item: Item): void {
    this.#items.push(item);
  }

  /** Forgets all. */
  clear(): void {
    this.#items = [];
    this.#head = 0;
  }

  /**
   * Takes the items of the next message, at least one when there is any.
   *
   * @param itemsMax No more than these, when it is less than a message takes.
   * @param takes Asked of each in turn: false ends the message before it. The first must be taken.
   */
  take(itemsMax: number = ITEMS_MAX, takes: (item: Item) => boolean = () => true): Item[] {
    const taken: Item[] = [];
    let bytes = 0;
    while (this.#head < this.#items.length && taken.length < Math.min(itemsMax, ITEMS_MAX)) {
      const item = this.#items[this.#head];
      if (item === undefined || (taken.length > 0 && bytes + item.bytes > MESSAGE_BYTES)) {
        break;
      }
      if (!takes(item)) break;
      bytes += item.bytes;
      taken.push(item);
      this.#head++;
    }
    if (this.#head === this.#items.length) {
      this.clear();
    } else if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return taken;
  }
}
