/** Numbers the pings of a stream, and tells who waits that the kernel has read up to one of them. */
export class PingConfirms {
  #last = 0;
  /** The ping behind what was posted, or 0 while no stream is up. */
  #waiting: { readonly ping: number; readonly resolve: () => void }[] = [];

  /** Number of the next ping. */
  next(): number {
    this.#last = (this.#last % 0x7fff_ffff) + 1;
    return this.#last;
  }

  /** Resolves when this ping is answered. 0: when the next stream is up. */
  answered(ping: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ ping, resolve });
    });
  }

  /** A ping was answered, and with it all before it. */
  pong(ping: number): void {
    const settled = this.#waiting.filter((each) => each.ping <= ping);
    this.#waiting = this.#waiting.filter((each) => each.ping > ping);
    for (const { resolve } of settled) resolve();
  }

  /** Nobody waits any more: a stream is up that has told everything anew, or none will be. */
  all(): void {
    this.pong(Number.POSITIVE_INFINITY);
  }
}
