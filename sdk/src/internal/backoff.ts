/** Bounds of a backoff, in ms. */
export interface BackoffOptions {
  /** Greatest first wait. */
  readonly initialMs: number;
  /** Greatest wait. */
  readonly maxMs: number;
}

/**
 * Waits that double and are jittered between half and the whole, so that many clients of a restarted kernel come back
 * spread out. (Equal jitter, as in Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.)
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** The next wait, in ms. */
  nextMs(): number {
    const { initialMs, maxMs } = this.#options;
    const ceilingMs = Math.min(maxMs, initialMs * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    return ceilingMs * (0.5 + Math.random() / 2);
  }

  /** Begins anew after a success. */
  reset(): void {
    this.#failures = 0;
  }
}
