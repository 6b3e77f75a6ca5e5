import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Child, type ChildEnd, startChild } from "../processes/child.js";
import type { KeptSpec } from "../processes/kept-child.js";
import { pawlCommand } from "../processes/paths.js";
import { kernelFolder } from "./folders.js";
import { say, tellErrors } from "./printer.js";
import { findRunningKernel, isAlive, urlOf } from "./running-kernel.js";

const lookEveryMs = 500;

/**
 * The kernel as a kept child. When another process serves the folder already, that kernel is used as long as it lives, and
 * ours takes over afterwards, on the same port.
 */
export class KernelChild implements KeptSpec {
  readonly name = "kernel";
  readonly readyField = "listening";
  readonly #onUrl: (url: string, pid: number) => void;
  #port: number;

  /** @param onUrl told of the kernel's address each time it is ready; after the first time it stays the same. */
  constructor(port: number, onUrl: (url: string, pid: number) => void) {
    this.#port = port;
    this.#onUrl = onUrl;
  }

  async start(signal: AbortSignal): Promise<Child> {
    await this.#useWhoeverServes(signal);
    signal.throwIfAborted();
    const flags = [
      "--dir",
      kernelFolder,
      "--port",
      `${this.#port}`,
      "--json",
      "--exit-with-parent",
      // What happens is told here; the log would tell it once more.
      "--log-level",
      "error",
    ];
    const command = [pawlCommand, "serve", ...flags] as const;
    return startChild({ command, onLine: tellErrors("kernel", signal) });
  }

  onReady(said: Readonly<Record<string, unknown>>, { pid }: Child): void {
    const { listening } = said;
    if (typeof listening === "object" && listening !== null && "port" in listening) {
      this.#port = Number(listening.port);
    }
    const url = urlOf(this.#port);
    say("kernel", `ready at ${url}, data in ./${kernelFolder} (process ${pid})`);
    this.#onUrl(url, pid);
  }

  async whyHopeless(end: ChildEnd): Promise<string | undefined> {
    const error = readError(end.lastErrors);
    if (end.code === null || end.code === storeFailedCode || error === undefined) return undefined;
    // Another kernel has the folder: it may be ending, or may be one to join. Both are seen at the next start.
    if (error.reason === "PAWL_STORE_LOCKED") return undefined;
    if (error.reason !== "PAWL_PORT_IN_USE") {
      return [`${error.message} [${error.reason}]`, ...error.next].join("\n  ");
    }
    const free = await findFreePort(this.#port + 1);
    return `${error.message}\nChoose another port:\n  npm start -- --port ${free}`;
  }

  say(text: string): void {
    say("kernel", text);
  }

  async #useWhoeverServes(signal: AbortSignal): Promise<void> {
    const found = await findRunningKernel();
    if (found === undefined) return;
    say(
      "kernel",
      `process ${found.pid} serves ./${kernelFolder} at ${found.url} already; it is used`,
    );
    this.#port = found.port;
    this.#onUrl(found.url, found.pid);
    while (isAlive(found.pid)) await delay(lookEveryMs, undefined, { signal });
    say("kernel", `process ${found.pid} has ended; one of our own takes over`);
  }
}

/** The store failed: the next start says what it kept. */
const storeFailedCode = 70;

interface ServeError {
  readonly reason: string;
  readonly message: string;
  readonly next: readonly string[];
}

/** The error that `pawl serve --json` ended with. */
function readError(lines: readonly string[]): ServeError | undefined {
  for (const line of lines.toReversed()) {
    if (!line.startsWith('{"error":')) continue;
    const { error }: { readonly error: Partial<ServeError> } = JSON.parse(line);
    return { reason: error.reason ?? "", message: error.message ?? line, next: error.next ?? [] };
  }
  return undefined;
}

/** A port that nobody listens on, from `first` on. */
async function findFreePort(first: number): Promise<number> {
  for (let port = first; port < Math.min(first + 50, 65_536); port++) {
    if (await isFree(port)) return port;
  }
  return 0;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
