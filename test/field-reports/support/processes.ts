import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPawl, startSmallPawl } from "../../cli/support/pawl-process.js";
import { waitUntil } from "../../set-up/running.js";

const HOOKS = new URL("../../log/support/child-hooks.mjs", import.meta.url).href;
const WORKER = fileURLToPath(new URL("worker-process.ts", import.meta.url));

/** A kernel in a process of its own, as `pawl serve` runs it. */
export interface KernelChild {
  readonly child: ChildProcess;
  readonly port: number;
  readonly url: string;
  readonly end: Promise<{ readonly code: number | null; readonly errors: string }>;
}

/** A worker in a process of its own. */
export interface WorkerChild {
  readonly child: ChildProcess;
  /** What it said so far, a line each. */
  readonly said: () => readonly string[];
  /** Waits until it has said a line that begins like this, and gives the line. */
  readonly says: (beginning: string) => Promise<string>;
  readonly exit: Promise<unknown>;
}

/** How a worker process behaves; see `worker-process.ts`. */
export interface WorkerWords {
  readonly behaviour: string;
  readonly url: string;
  /** How wrong its clock is. Default 0. */
  readonly clockOffsetMs?: number;
}

/** Kernels and workers of one test, in a folder that goes with them. */
export class Processes {
  readonly folder: string = mkdtempSync(join(tmpdir(), "pawl-field-"));
  /** The sink that worker processes write to: one line for each call. */
  readonly sinkFile: string = join(this.folder, "sink");
  readonly #children: ChildProcess[] = [];

  /**
   * Starts a kernel on the test's data folder and waits until it listens.
   * @param heapMib room for its objects. Default: Node's own.
   */
  async kernel(port: number = 0, heapMib?: number): Promise<KernelChild> {
    const args = ["serve", "--dir", "data", "--port", String(port), "--json", "--no-restart"];
    const started =
      heapMib === undefined
        ? startPawl(this.folder, args)
        : startSmallPawl(this.folder, heapMib, args);
    this.#children.push(started.child);
    const line: { listening: { port: number } } = JSON.parse(await started.line(1));
    const listening = line.listening.port;
    return {
      child: started.child,
      port: listening,
      url: `http://127.0.0.1:${listening}`,
      end: started.end,
    };
  }

  /** Starts a worker. */
  worker({ behaviour, url, clockOffsetMs = 0 }: WorkerWords): WorkerChild {
    const flags = ["--conditions=pawl-source", "--import", HOOKS];
    const words = [behaviour, url, this.sinkFile, String(clockOffsetMs)];
    const child = spawn(process.execPath, [...flags, WORKER, ...words], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.push(child);
    let out = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    const said = (): string[] => out.split("\n").slice(0, -1);
    const find = (beginning: string): string | undefined =>
      said().find((line) => line.startsWith(beginning));
    return {
      child,
      said,
      says: async (beginning) => {
        await waitUntil(
          () => find(beginning) !== undefined,
          `"${beginning}" of a worker`,
          () => `${out}\n${errors}`,
        );
        return find(beginning) ?? "";
      },
      exit: once(child, "close"),
    };
  }

  /** Calls of the sink so far: the operation key of each. */
  sinkCalls(): string[] {
    try {
      return readFileSync(this.sinkFile, "utf8").split("\n").slice(0, -1);
    } catch {
      // No call, no file.
      return [];
    }
  }

  /** Ends every process and removes the folder. */
  async end(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const closed = once(child, "close");
        child.kill("SIGKILL");
        await closed;
      }),
    );
    rmSync(this.folder, { recursive: true, force: true });
  }
}
