import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openKernel } from "./kernel/open-kernel.js";
import { openDataFolder } from "./log/open-store.js";
import { createLog, type Log } from "./observe/log.js";
import { Metrics } from "./observe/metrics.js";
import { faultReporter } from "./rpc/observed.js";
import { startServer } from "./rpc/server.js";

export { MemoryKernel, type MemoryKernelOptions } from "./memory-kernel.js";
export { type ReplayedEvent, ReplayedRun, type ReplayOptions } from "./replay.js";

/** How a kernel is embedded. */
export interface EmbedOptions {
  /** Data folder. Made when it is absent or empty. */
  readonly dir: string;
  /** What happened, for whoever runs the program. pino's loggers are of this shape. Default: warnings and errors, as JSON lines on stderr. */
  readonly log?: Log;
  /** Told of every fault of the kernel's own code, and where it happened, besides the log. */
  readonly onFault?: (error: unknown, where: string) => void;
}

/** A kernel that runs inside this process and serves it alone. */
export interface Embedding {
  /** Local socket on which it serves; only this user may connect. */
  readonly socketPath: string;
  /** Resolves with the reason when its store failed: only a new `embedKernel` goes on. */
  readonly failed: Promise<Error>;
  /** Drains, writes the last checkpoint, closes everything. Safe to call again. */
  close(): Promise<void>;
}

/** The system's bound on the path of a local socket is 104 bytes or more (sockaddr_un), the end included. */
const socketPathBytesMax = 100;

/**
 * Opens a data folder and serves it on a local socket of this process: the same kernel and the same edge as `pawl serve`, without a port.
 * The socket lies in the data folder, or, when that path is too long for one, in a folder of its own.
 *
 * @throws StoreError when the folder is refused (locked, damaged, foreign, newer).
 */
export async function embedKernel(options: EmbedOptions): Promise<Embedding> {
  const directory = resolve(options.dir);
  const log = options.log ?? createLog({ level: "warn" });
  const metrics = new Metrics();
  const report = faultReporter(log);
  const onFault = (error: unknown, where: string): void => {
    report(error, where);
    options.onFault?.(error, where);
  };
  const folder = await openDataFolder(directory, { create: true });
  const opened: { close: () => Promise<void> }[] = [folder];
  try {
    const kernel = await openKernel({
      store: folder.store,
      secret: folder.secret,
      disk: { ballast: folder.ballast },
      log,
      meter: metrics,
      onFault: ({ error, command }) => options.onFault?.(error, command),
    });
    opened.push(kernel);
    metrics.watchKernel(() => kernel.gauges());
    metrics.watchFolder(directory);
    const place = await placeSocket(directory);
    opened.push({ close: place.remove });
    const server = await startServer({ kernel, socketPath: place.path, onFault, metrics });
    await chmod(place.path, 0o600);
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      kernel.drain();
      await server.close();
      await kernel.close();
      await place.remove();
    };
    return {
      socketPath: place.path,
      failed: new Promise((resolveFailed) => kernel.onFailed(resolveFailed)),
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    for (const part of opened.reverse()) {
      await part.close();
    }
    throw error;
  }
}

interface SocketPlace {
  readonly path: string;
  remove(): Promise<void>;
}

async function placeSocket(directory: string): Promise<SocketPlace> {
  const path = join(directory, "kernel.sock");
  if (Buffer.byteLength(path) <= socketPathBytesMax) {
    // The folder is ours alone while its store is open, so a socket in it is left from a process that was killed.
    await rm(path, { force: true });
    return { path, remove: () => rm(path, { force: true }) };
  }
  const own = await mkdtemp(join(tmpdir(), "pawl-"));
  return { path: join(own, "s"), remove: () => rm(own, { recursive: true, force: true }) };
}
