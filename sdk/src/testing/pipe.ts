import { Duplex } from "node:stream";

/** One end of a connection inside this process. */
class PipeEnd extends Duplex {
  #peer: PipeEnd | undefined;
  readonly #onBytes: () => void;
  /** Called when the reader of this end wants more. */
  #goOn: (() => void) | undefined;

  constructor(onBytes: () => void) {
    super();
    this.#onBytes = onBytes;
  }

  join(peer: PipeEnd): void {
    this.#peer = peer;
  }

  override _read(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#onBytes();
    const peer = this.#peer;
    if (peer === undefined || peer.destroyed || peer.push(chunk)) {
      done();
    } else {
      peer.#goOn = done;
    }
  }

  override _final(done: () => void): void {
    this.#peer?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#onBytes();
    const peer = this.#peer;
    this.#peer = undefined;
    // As a socket does: the other end hears of it later.
    if (peer !== undefined && !peer.destroyed) setImmediate(() => peer.destroy());
    done(error);
  }
}

/**
 * A connection inside this process, both ends of it.
 *
 * @param onBytes Told whenever something moves on it.
 */
export function makePipe(onBytes: () => void): readonly [Duplex, Duplex] {
  const one = new PipeEnd(onBytes);
  const other = new PipeEnd(onBytes);
  one.join(other);
  other.join(one);
  // A cut connection is told to whoever uses it, by its own protocol.
  one.on("error", () => undefined);
  other.on("error", () => undefined);
  return [one, other];
}
