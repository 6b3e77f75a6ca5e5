import { type Client, type ConnectOptions, connect } from "./connect.js";
import { PawlError } from "./errors.js";
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

/** The one export of `@pawl/server/embed.js` that is used. */
export interface EmbedModule {
  embedKernel(options: { readonly dir: string }): Promise<Embedding>;
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
  const client = connect({ ...options, url: `unix:${embedding.socketPath}` });
  return embed(client, embedding);
}

function embed(client: Client, embedding: Embedding): EmbeddedKernel {
  let closed: Promise<void> | undefined;
  const close = async (closeOptions?: CloseOptions): Promise<void> => {
    await client.close(closeOptions);
    await embedding.close();
  };
  // A failed kernel answers nothing more: whoever waits must learn it.
  void embedding.failed.then(() => client.close({ drainMs: 0 }));
  return {
    api: client.api,
    failed: embedding.failed,
    get connection() {
      return client.connection;
    },
    start: (definition, ...input) => client.start(definition, ...input),
    execute: (definition, ...input) => client.execute(definition, ...input),
    run: (runId, definition) => client.run(runId, definition),
    perform: (operation, payload, performOptions) =>
      client.perform(operation, payload, performOptions),
    worker: (workerOptions) => client.worker(workerOptions),
    close: (closeOptions) => {
      closed ??= close(closeOptions);
      return closed;
    },
    [Symbol.asyncDispose]: () => {
      closed ??= close();
      return closed;
    },
  };
}

async function loadEmbedModule(): Promise<EmbedModule> {
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
