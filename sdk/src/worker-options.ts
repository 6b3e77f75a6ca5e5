import type { SecretResolvers } from "./secret.js";
import type { ServedTask } from "./task.js";

/** What a worker does and how much. */
export interface WorkerOptions {
  /** What it serves. At least one; each once, or once per queue (`fromQueue`). */
  readonly serve: readonly ServedTask[];
  /** Attempts at the same time. Default 16, 1 to 100,000. */
  readonly slots?: number;
  /**
   * Memory, in bytes, for functions that wait: one that is kept goes on where it stands when it is woken, instead of running again from its records. By an estimate;
   * beyond it those that wait the longest are dropped, and nothing of them runs then. Default 67,108,864 (64 MiB); 0 keeps none.
   */
  readonly warmBytesMax?: number;
  /** Who looks up the credentials that content refers to (`secretRef`), by the name before the colon: `{ vault: async (name) => … }`. Default: nobody. */
  readonly secrets?: SecretResolvers;
  /** Name for people. Default: host name and process id. At most 200 bytes. */
  readonly name?: string;
  /** Aborting it closes the worker, as `close()` does. */
  readonly signal?: AbortSignal;
  /**
   * Told when a handler did not stop although its attempt was over for 10 s: it goes on, but its slot is given to
   * another. Without it, a process warning.
   */
  readonly onStuck?: (stuck: { readonly task: string; readonly runId: string }) => void;
}

/** How a worker, or a client with its workers, is closed. */
export interface CloseOptions {
  /**
   * How long running attempts may take to end by themselves, in ms. Default 10,000. What then still runs is asked to
   * stop (`ctx.signal`, reason `Draining`), and its task given back without using an attempt.
   */
  readonly drainMs?: number;
}

/** A worker at work. */
export interface Worker extends AsyncDisposable {
  /** Id of its session: the same over reconnects. */
  readonly sessionId: string;
  /** Attempts that are running. */
  readonly running: number;
  /** Takes no new work, lets what runs end, gives the rest back, and says goodbye. A second call waits for the first. */
  close(options?: CloseOptions): Promise<void>;
}
