/**
 * The sending side of a stream: collects until the end of the tick, then makes one message of all. The next one is made
 * when the connection took the last: what comes meanwhile gathers.
 */
export class Outflow<Message> implements AsyncIterable<Message>, AsyncIterator<Message> {
  readonly #take: () => Message | undefined;
  #reader: ((result: IteratorResult<Message>) => void) | undefined;
  #isScheduled = false;
  #isEnded = false;

  /** @param take Makes the next message of what is waiting; undefined when nothing is. */
  constructor(take: () => Message | undefined) {
    this.#take = take;
  }

  /** Something is waiting. */
  wake(): void {
    if (this.#reader === undefined || this.#isScheduled || this.#isEnded) {
      return;
    }
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#give();
    });
  }

  /** Nothing more comes. What waits is not sent. */
  end(): void {
    this.#isEnded = true;
    this.#settle({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): AsyncIterator<Message> {
    return this;
  }

  next(): Promise<IteratorResult<Message>> {
    if (this.#isEnded) {
      return Promise.resolve({ done: true, value: undefined });
    }
    const message = this.#take();
    if (message !== undefined) {
      return Promise.resolve({ done: false, value: message });
    }
    return new Promise((resolve) => {
      this.#reader = resolve;
    });
  }

  return(): Promise<IteratorResult<Message>> {
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** The stream failed. Connect gives up a request stream by this; without it, the real error would be lost. */
  throw(): Promise<IteratorResult<Message>> {
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #give(): void {
    if (this.#reader === undefined || this.#isEnded) {
      return;
    }
    const message = this.#take();
    if (message !== undefined) {
      this.#settle({ done: false, value: message });
    }
  }

  #settle(result: IteratorResult<Message>): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.(result);
  }
}
