import type { Duplex } from "node:stream";
import { createPawlClient } from "./client.js";
import type { Client, ConnectOptions } from "./connect.js";
import { PawlError } from "./errors.js";
import { ClientCore } from "./internal/client-core.js";
import { KernelClient } from "./internal/kernel-client.js";
import { ConnectionMonitor } from "./internal/monitor.js";
import type { CloseOptions } from "./worker-options.js";

/** How a kernel is opened inside this process. */
export interface OpenKernelOptions extends Omit<ConnectOptions, "url" | "token" | "tls"> {
  /** Data folder. Made when it is absent or empty. One process at a time. */
  readonly dir: string;
}

/** A kernel inside this process, with its client. */
export interface EmbeddedKernel extends Client {
  /** Resolves with the reason when the kernel failed: nothing more is acknowledged, and only a new `openKernel` goes on. */
  readonly failed: Promise<Error>;
}

/** What `@pawl/server/embed.js` gives: a kernel that only this process reaches. */
export interface Embedding {
  /** Local socket on which it serves: in the data folder, mode 0600. */
  readonly socketPath: string;
  /** Resolves with the reason when it failed. */
  readonly failed: Promise<Error>;
  /** Drains and closes the store. */
  close(): Promise<void>;
}

/** A kernel in memory, as `@pawl/server/embed.js` gives it to the test kit. */
export interface MemoryEmbedding {
  /** True while a kernel is open. */
  readonly isOpen: boolean;
  /** Leases that are open. */
  readonly leases: number;
  /** Tasks that wait to be tried again. */
  readonly backoffs: number;
  /** Serves a connection of this process; cuts it when no kernel is open. */
  accept(connection: Duplex): void;
  /** Opens a kernel on what the disk holds, with a time of its own. */
  start(time: KernelTime): Promise<void>;
  /** Kills the kernel; the disk keeps what was durable. */
  kill(): Promise<void>;
}

/** Time as a kernel asks for it. */
export interface KernelTime {
  wallMs(): number;
  monotonicMs(): number;
  after(delayMs: number, callback: () => void): { cancel(): void };
  soon(callback: () => void): { cancel(): void };
}

/** An event of a history, as it is replayed. */
export interface StoredEvent {
  readonly number: number;
  readonly atMs: number;
  readonly stored: Uint8Array;
}

/** A run as its history says, as `@pawl/server/embed.js` gives it. */
export interface ReplayedHistory {
  offer(): Uint8Array;
  answer(kind: "intent" | "call" | "wait" | "obligation" | "child", item: Uint8Array): Uint8Array;
  propose(request: Uint8Array): string;
}

/** What is used of `@pawl/server/embed.js`. */
export interface EmbedModule {
  embedKernel(options: { readonly dir: string }): Promise<Embedding>;
  readonly ReplayedRun: new (
    events: readonly StoredEvent[],
    options: { readonly task: string; readonly runNumber: number },
  ) => ReplayedHistory;
  readonly MemoryKernel: {
    open(options: {
      readonly time: KernelTime;
      readonly onFault: (error: unknown, where: string) => void;
    }): Promise<MemoryEmbedding>;
  };
}

/** Not a literal: the server package is optional, and a bundler must not demand it. */
const EMBED_MODULE: string = "@pawl/server/embed.js";

/**
 * Opens a kernel inside this process, like SQLite: the same kernel, the same promises, nothing to install or run beside
 * it. It needs the package `@pawl/server`. It serves only this process.
 *
 * @throws PawlError `PAWL_SERVER_MISSING` without that package; what the kernel says of its folder (locked, damaged,
 *   written by a newer one).
 */
export async function openKernel(options: OpenKernelOptions): Promise<EmbeddedKernel> {
  const embedding = await (await loadEmbedModule()).embedKernel({ dir: options.dir });
  const api = createPawlClient({ ...options, url: `unix:${embedding.socketPath}` });
  const monitor = new ConnectionMonitor(options.onConnection);
  return new EmbeddedClient(new ClientCore(api, options.namespace ?? "", monitor), embedding);
}

class EmbeddedClient extends KernelClient implements EmbeddedKernel {
  readonly failed: Promise<Error>;
  readonly #embedding: Embedding;

  constructor(core: ClientCore, embedding: Embedding) {
    super(core);
    this.#embedding = embedding;
    this.failed = embedding.failed;
    void embedding.failed.then((error) => this.fail(storeFailed(error)));
  }

  override async close(options?: CloseOptions): Promise<void> {
    await super.close(options);
    await this.#embedding.close();
  }
}

function storeFailed(cause: Error): PawlError {
  return new PawlError(
    "PAWL_STORE_FAILED",
    `The kernel in this process failed and acknowledges nothing more: ${cause.message} What was acknowledged is safe. Close it and open it anew.`,
    { cause },
  );
}

/**
 * Loads the optional package of the kernel.
 *
 * @throws PawlError `PAWL_SERVER_MISSING`
 */
export async function loadEmbedModule(): Promise<EmbedModule> {
  let loaded: unknown;
  try {
    loaded = await import(EMBED_MODULE);
  } catch (cause) {
    throw serverMissing("cannot be loaded", cause);
  }
  if (!isEmbedModule(loaded)) {
    throw serverMissing("has no embedKernel", undefined);
  }
  return loaded;
}

function serverMissing(found: string, cause: unknown): PawlError {
  const message = `Expected the package @pawl/server, in the version of this @pawl/sdk, to open a kernel in this process, but it ${found}. Install it, or use connect({ url }).`;
  return new PawlError("PAWL_SERVER_MISSING", message, { cause, retryable: false });
}

function isEmbedModule(loaded: unknown): loaded is EmbedModule {
  return (
    typeof loaded === "object" &&
    loaded !== null &&
    typeof Reflect.get(loaded, "embedKernel") === "function"
  );
}
