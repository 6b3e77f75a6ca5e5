import { spawn } from "node:child_process";
import { SetUpError, StoppedError } from "./errors.mjs";

/** How long a child may take to end after SIGTERM before it and its children are killed. */
const KILL_AFTER_MS = 5_000;

/**
 * @typedef {object} ChildOptions
 * @property {string} command
 * @property {readonly string[]} args
 * @property {string} cwd
 * @property {NodeJS.ProcessEnv} env
 * @property {import("./stop.mjs").Stop} stop
 * @property {import("node:child_process").StdioOptions} [stdio] default: all output to stderr, since
 *   stdout belongs to the command that set-up prepares (`--json`)
 * @property {(pid: number) => void} [onSpawn]
 */

/**
 * Runs one child to its end, in a process group of its own: a signal to stop then reaches all that
 * the child started too, and reaches it once, whether it came from the terminal, npm or `kill`.
 *
 * @param {ChildOptions} options
 * @returns {Promise<number>} the child's exit code
 * @throws {StoppedError} when a signal to stop came; the whole group has ended by then
 * @throws {SetUpError} when the child cannot be started, or was killed by somebody else
 */
export async function runChild(options) {
  const { command, args, cwd, env, stop, stdio = ["ignore", 2, 2] } = options;
  stop.throwIfStopped();
  const child = spawn(command, args, { cwd, env, stdio, detached: true });
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const stopWatching = endGroupOnStop(child, stop);
  try {
    const [code, signal] = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
    });
    const stoppedBy = stop.signal();
    if (stoppedBy !== undefined) {
      killGroup(child, "SIGKILL");
      throw new StoppedError(stoppedBy);
    }
    if (code === null) throw new SetUpError(`${command} was ended by ${signal}`);
    return code;
  } catch (error) {
    if (error instanceof StoppedError || error instanceof SetUpError) throw error;
    throw new SetUpError(`expected to run ${command}, but ${String(error)}`, { cause: error });
  } finally {
    stopWatching();
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {import("./stop.mjs").Stop} stop
 * @returns {() => void}
 */
function endGroupOnStop(child, stop) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const offStop = stop.onStop(() => {
    killGroup(child, "SIGTERM");
    timer = setTimeout(() => killGroup(child, "SIGKILL"), KILL_AFTER_MS);
  });
  const offInsist = stop.onInsist(() => killGroup(child, "SIGKILL"));
  return () => {
    clearTimeout(timer);
    offStop();
    offInsist();
  };
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
function killGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // ESRCH: all of the group has ended, which is what was wanted.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
  }
}
