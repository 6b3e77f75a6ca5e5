import type { OrderKey } from "./order-key.js";
import type { Place } from "./place.js";
import type { Ready } from "./ready-heap.js";

/** Where something stands that runs: nobody looks at it before it has a place. */
const NOWHERE: OrderKey = { after: 0, isOwn: true, number: 0 };

/** Something of a function's own, from its beginning until what it came to is given to the code. */
export class OwnWork<T> implements Ready {
  /** Gives what it came to. */
  readonly promise: Promise<T>;
  /** Its place, once it has ended. */
  key: OrderKey = NOWHERE;
  readonly #place: Place;
  readonly #settled: (work: Ready) => void;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #value: T | undefined;
  #error: unknown;
  #hasFailed = false;

  /** @param settled Told when it has ended. */
  constructor(place: Place, settled: (work: Ready) => void) {
    this.#place = place;
    this.#settled = settled;
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** It came to this. */
  settle(value: T): void {
    this.#value = value;
    this.#end();
  }

  /** It failed. That ends nothing while nobody looks at it. */
  fail(error: unknown): void {
    this.#error = error;
    this.#hasFailed = true;
    this.#end();
  }

  #end(): void {
    this.key = this.#place.end();
    this.#settled(this);
  }

  /** True while nothing fixes its place: it is recorded when it is given, if at all. */
  get isOpen(): boolean {
    return this.#place.isOpen;
  }

  give(): void {
    this.#place.given();
    if (this.#hasFailed) {
      this.promise.catch(() => undefined);
      this.#reject(this.#error);
    } else {
      this.#resolve(this.#value as T);
    }
  }
}
