import type { ByteStream } from "./byte-stream.js";

/**
 * Messages of one stream, handled one after another: a message whose handling must wait (for a blob to be stored, for a digest) holds
 * back those after it, so order is kept. While it waits, or while the other side does not read what it is sent, nothing more is read.
 */
export class Inbox<M> {
  readonly #stream: ByteStream;
  readonly #handle: (message: M) => Promise<void> | undefined;
  readonly #fault: (error: unknown) => void;
  readonly #waiting: M[] = [];
  #isBusy = false;
  #hasRoom = true;
  #isPaused = false;
  #isClosed = false;

  /**
   * @param handle gives a promise when the next message must wait for it.
   * @param fault is told of an error of such a promise.
   */
  constructor(
    stream: ByteStream,
    handle: (message: M) => Promise<void> | undefined,
    fault: (error: unknown) => void,
  ) {
    this.#stream = stream;
    this.#handle = handle;
    this.#fault = fault;
  }

  /** True when nothing waits to be handled. */
  get isIdle(): boolean {
    return !this.#isBusy && this.#waiting.length === 0;
  }

  /** True while a message is worked on, and nothing more is read for that. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  push(message: M): void {
    if (this.#isClosed) {
      return;
    }
    if (this.#isBusy) {
      this.#waiting.push(message);
      return;
    }
    this.#run(message);
  }

  /** The other side does not read: stop reading from it. */
  noRoom(): void {
    this.#hasRoom = false;
    this.#balance();
  }

  /** The other side reads again. */
  roomAgain(): void {
    this.#hasRoom = true;
    this.#balance();
  }

  /** Takes nothing more; what waits is dropped, its sender will send it again. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  #run(message: M): void {
    const waiting = this.#handle(message);
    if (waiting === undefined) {
      return;
    }
    this.#isBusy = true;
    this.#balance();
    waiting
      .then(() => this.#goOn())
      .catch((error: unknown) => {
        this.#isBusy = false;
        this.#fault(error);
      });
  }

  #goOn(): void {
    this.#isBusy = false;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#run(next);
      if (this.#isBusy) {
        return;
      }
    }
    this.#balance();
  }

  #balance(): void {
    const mustPause = this.#isBusy || !this.#hasRoom;
    if (mustPause !== this.#isPaused) {
      this.#isPaused = mustPause;
      if (mustPause) {
        this.#stream.pause();
      } else {
        this.#stream.resume();
      }
    }
  }
}
