import type { Fence, Store } from "../../log/store.js";
import type { Loop } from "../loop.js";
import type { Target } from "../outcome.js";

/** What blobs are kept in. */
export interface BlobsParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly loop: Loop;
}

/** Content above the inline bound, kept out of events in chunks of its own. */
export class Blobs {
  readonly #parts: BlobsParts;

  constructor(parts: BlobsParts) {
    this.#parts = parts;
  }

  /** Stores the content of an encoded `pawl.v1.Payload` above the bound durably, and answers the payload that refers to it. */
  admit(target: Target, payload: Uint8Array): Promise<Uint8Array> {
    throw new Error(`${target.kind} ${payload.length} ${this.#parts.partition}`);
  }

  /** The content, in chunks of at most 1 MiB. */
  // biome-ignore lint/correctness/useYield: written next.
  async *read(number: number, sha256: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
    throw new Error(`${number} ${sha256.length}`);
  }
}
