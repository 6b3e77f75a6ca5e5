import type { Command } from "commander";
import { DEFAULT_FOLDER } from "../kernel-url.js";

/** Options of `pawl restore`. */
export interface RestoreOptions {
  readonly dir: string;
  readonly reason: string;
  readonly json?: boolean;
}

/** Does `pawl restore`; the answer is the exit code. */
export type Restore = (options: RestoreOptions) => Promise<number>;

/** `pawl restore`. */
export function addRestore(
  program: Command,
  restore: Restore,
  setExitCode: (code: number) => void,
): void {
  program
    .command("restore")
    .description(
      "begin a new epoch of a data folder that was put back from a copy, or whose loss is accepted",
    )
    .option("--dir <folder>", "the data folder, which no kernel serves now", DEFAULT_FOLDER)
    .option("--reason <text>", "why, for the log of the store", "")
    .option("--json", "print one JSON object")
    .action(async (options: RestoreOptions) => setExitCode(await restore(options)));
}
