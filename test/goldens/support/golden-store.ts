import type { EmbeddedKernel } from "@pawl/sdk";

/** What a kept store holds, and the code of its runs as it was when the store was written. It is never changed. */
export interface GoldenStore {
  /** Fills a new store. The kernel is closed after it, so this stands in rows and chunks. */
  readonly fill: (kernel: EmbeddedKernel) => Promise<void>;
  /** Goes on in the same store. The process is killed after it, so this stands in the log alone. */
  readonly leave: (kernel: EmbeddedKernel) => Promise<void>;
  /** Why each run that is open does not go on: a part of the sentence, by run. */
  readonly open: Readonly<Record<string, string>>;
  /** Brings what is open to its end, with the code that made it. */
  readonly goOn: (kernel: EmbeddedKernel) => Promise<unknown>;
  /** What `goOn` must give. */
  readonly ends: unknown;
}
