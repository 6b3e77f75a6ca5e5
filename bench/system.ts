import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "./child.js";

/** Kernel, worker and driver, each in a process of its own, on an empty store. */
export interface System {
  readonly directory: string;
  readonly url: string;
  readonly kernel: Child;
  readonly worker: Child;
  readonly driver: Child;
  close(): Promise<void>;
}

const pawl: string = fileURLToPath(
  new URL("../bin/pawl.js", import.meta.resolve("@pawl/server/embed.js")),
);

/** Starts a kernel on `directory`; answers its process and address. @param port default: a free one. */
export async function startKernel(
  directory: string,
  port: number | string = 0,
): Promise<{ kernel: Child; url: string }> {
  const kernel = startChild(pawl, [
    "serve",
    "--dir",
    directory,
    "--port",
    `${port}`,
    "--json",
    "--exit-with-parent",
  ]);
  const { listening } = await kernel.next<{ listening: { port: number } }>();
  return { kernel, url: `http://127.0.0.1:${listening.port}` };
}

/** Starts a program of this package. */
export function startProgram(name: string, args: readonly string[]): Child {
  return startChild(fileURLToPath(new URL(`${name}.js`, import.meta.url)), args);
}

/** An empty folder for a store, on the disk that the temporary folder is on. */
export function makeFolder(): string {
  return mkdtempSync(join(process.env["PAWL_BENCH_DIR"] ?? tmpdir(), "pawl-bench-"));
}

/** Starts everything. @param slots tasks that the worker takes at once. */
export async function startSystem(slots: number): Promise<System> {
  const directory = makeFolder();
  const { kernel, url } = await startKernel(join(directory, "store"));
  const worker = startProgram("worker", [url, String(slots)]);
  await worker.next();
  const driver = startProgram("driver", [url]);
  await driver.next();
  const close = async (): Promise<void> => {
    await driver.end();
    await worker.end();
    await kernel.end();
    rmSync(directory, { recursive: true, force: true });
  };
  return { directory, url, kernel, worker, driver, close };
}
