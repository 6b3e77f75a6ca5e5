/**
 * A promise that tells when somebody begins to wait for it (`await`, `then`, `Promise.race`, …): code that made it and does something else
 * meanwhile does not wait yet.
 */
export class WaitPromise<T> extends Promise<T> {
  #onAwaited: (() => void) | undefined;

  /** What is chained to it is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Wraps a promise. `onAwaited` is called each time somebody begins to wait. Its rejection alone never ends the process. */
  static of<V>(inner: Promise<V>, onAwaited: () => void): WaitPromise<V> {
    const outer = new WaitPromise<V>((resolve, reject) => {
      inner.then(resolve, reject);
    });
    // Not by its own `then`: this is nobody waiting.
    Promise.prototype.then.call(outer, undefined, () => undefined);
    outer.#watch(onAwaited);
    return outer;
  }

  #watch(onAwaited: () => void): void {
    this.#onAwaited = onAwaited;
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaited is what it is there to notice.
  override then<R1 = T, R2 = never>(
    onFulfilled?: ((value: T) => R1 | PromiseLike<R1>) | null,
    onRejected?: ((reason: unknown) => R2 | PromiseLike<R2>) | null,
  ): Promise<R1 | R2> {
    this.#onAwaited?.();
    return super.then(onFulfilled, onRejected);
  }
}
