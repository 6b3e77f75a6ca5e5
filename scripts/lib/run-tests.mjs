import { join } from "node:path";
import { runChild } from "./child.mjs";
import { exitCodeOf, StoppedError } from "./errors.mjs";
import { ROOT } from "./set-up.mjs";
import { listenForStop } from "./stop.mjs";

/**
 * Runs vitest over all projects, or over what the command's arguments say, and ends it with all that
 * it started when asked to stop.
 *
 * @returns {Promise<number>} the exit code
 */
export async function runTests() {
  const stop = listenForStop();
  try {
    return await runChild({
      command: process.execPath,
      args: [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...process.argv.slice(2)],
      cwd: ROOT,
      // A test must not depend on the surroundings in which a person starts it.
      env: { ...process.env, NODE_ENV: "test" },
      stdio: ["ignore", "inherit", "inherit"],
      stop,
    });
  } catch (error) {
    if (error instanceof StoppedError) return exitCodeOf(error.signal);
    throw error;
  } finally {
    stop.close();
  }
}
