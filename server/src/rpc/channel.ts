/**
 * A queue between something that calls back and something that iterates: values are pushed as they come and iterated in
 * order. It ends by `end`, `fail` or its signal. Unbounded: whoever pushes bounds what it pushes.
 */
export class Channel<T> implements AsyncIterable<T> {
  readonly #signal: AbortSignal;
  readonly #values: T[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;
  #error: { readonly error: unknown } | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Adds a value. Ignored after the end. */
  push(value: T): void {
    if (!this.#isEnded) {
      this.#values.push(value);
      this.#wake?.();
    }
  }

  /** No more values. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Ends with an error, after the values that were pushed before. */
  fail(error: unknown): void {
    if (!this.#isEnded) {
      this.#error = { error };
      this.end();
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const onAbort = (): void => this.fail(this.#signal.reason);
    this.#signal.addEventListener("abort", onAbort, { once: true });
    if (this.#signal.aborted) {
      onAbort();
    }
    try {
      for (;;) {
        for (let value = this.#values.shift(); value !== undefined; value = this.#values.shift()) {
          yield value;
        }
        if (this.#error !== undefined) {
          throw this.#error.error;
        }
        if (this.#isEnded) {
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#isEnded = true;
      this.#signal.removeEventListener("abort", onAbort);
    }
  }
}
