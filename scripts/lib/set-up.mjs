import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildIfStale } from "./build.mjs";
import { exitCodeOf, SetUpError, StoppedError } from "./errors.mjs";
import { installIfStale } from "./install.mjs";
import { acquireSetUpLock } from "./lock.mjs";
import { listenForStop } from "./stop.mjs";

/** The repository's folder. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What `npm start` needs built: the kernel, its client, and the example that shows both. */
export const RUNTIME_PACKAGES = ["proto", "server", "sdk", "examples"];

/** All there is to build. */
export const ALL_PACKAGES = [...RUNTIME_PACKAGES, "bench", "test"];

/**
 * Installs and builds what is stale, under the set-up lock. A person is told in a line on stderr
 * about everything that takes time; when all is fresh, nothing is printed.
 *
 * @param {{ holder: string, packages: readonly string[], stop: import("./stop.mjs").Stop }} options
 * @returns {Promise<void>}
 * @throws {SetUpError} when it failed in a way that a person can mend
 * @throws {StoppedError} when a signal to stop came; no child is left, and the lock is free
 */
async function setUp({ holder, packages, stop }) {
  /** @param {string} line */
  const say = (line) => process.stderr.write(`set-up: ${line}\n`);
  const directory = join(ROOT, ".set-up", "lock");
  const lock = await acquireSetUpLock({ directory, holder, stop, say });
  try {
    await installIfStale({ root: ROOT, stop, lock, say });
    await buildIfStale({ root: ROOT, packages, stop, lock, say });
    stop.throwIfStopped();
  } finally {
    lock.release();
  }
}

/**
 * Sets up, then goes on. While setting up, signals to stop are ours; `goOn` starts without any
 * handler, so a signal ends the process until `goOn` has put up its own.
 *
 * @param {{ holder: string, packages: readonly string[] }} options
 * @param {() => Promise<number>} goOn answers with the exit code
 * @returns {Promise<never>}
 */
export async function setUpAndGoOn({ holder, packages }, goOn) {
  tolerateClosedOutput();
  const stop = listenForStop();
  try {
    await setUp({ holder, packages, stop });
  } catch (error) {
    if (error instanceof StoppedError) process.exit(exitCodeOf(error.signal));
    if (error instanceof SetUpError) {
      process.stderr.write(`${holder}: ${error.message} [${error.code}]\n`);
      process.exit(1);
    }
    throw error;
  }
  stop.close();
  process.exit(await goOn());
}

/**
 * A closed terminal or a reader that went away (`npm start | head`) makes writing fail. That is no
 * reason to crash with a stack: the signal that follows, or the work itself, ends the process.
 */
function tolerateClosedOutput() {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
  }
}
