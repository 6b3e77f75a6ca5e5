import type { Store } from "../../log/store.js";
import type { WatchedEvent } from "../kernel-api.js";
import type { Residency } from "../residency.js";
import type { StoredRuns } from "./run-reader.js";

/** What histories are read from. */
export interface HistoryReaderParts {
  readonly store: Store;
  readonly partition: number;
  readonly residency: Residency;
  readonly runs: StoredRuns;
  /** Last durable sequence: `loop.durableSequence`. */
  readonly durableSequence: () => number;
}

/** Reads the durable events of one run: from its chunks, then from what is in no chunk yet. */
export class HistoryReader {
  readonly #parts: HistoryReaderParts;

  constructor(parts: HistoryReaderParts) {
    this.#parts = parts;
  }

  /** Events from number `from` (≥ 1) on, in pages of at most 256 events or 1 MiB. */
  // biome-ignore lint/correctness/useYield: written next.
  async *read(
    number: number,
    from: number,
  ): AsyncGenerator<readonly WatchedEvent[], void, undefined> {
    throw new Error(`${number} ${from} ${this.#parts.partition}`);
  }
}
