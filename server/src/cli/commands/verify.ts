import type { Command } from "commander";
import { DEFAULT_FOLDER } from "../kernel-url.js";

/** Options of `pawl verify`. */
export interface VerifyOptions {
  readonly dir: string;
  readonly json?: boolean;
}

/** Does `pawl verify`; the answer is the exit code. */
export type Verify = (options: VerifyOptions) => Promise<number>;

/** `pawl verify`. */
export function addVerify(
  program: Command,
  verify: Verify,
  setExitCode: (code: number) => void,
): void {
  program
    .command("verify")
    .description("check all that a data folder holds, while no kernel serves it; changes nothing")
    .option("--dir <folder>", "the data folder", DEFAULT_FOLDER)
    .option("--json", "print JSON, one object a line; the last has the verdict")
    .action(async (options: VerifyOptions) => setExitCode(await verify(options)));
}
