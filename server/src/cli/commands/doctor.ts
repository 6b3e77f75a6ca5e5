import type { Command } from "commander";
import type { CredentialOptions } from "../credentials.js";
import { DEFAULT_FOLDER } from "../kernel-url.js";

/** Options of `pawl doctor`. */
export interface DoctorOptions extends CredentialOptions {
  readonly dir: string;
  readonly json?: boolean;
}

/** Does `pawl doctor`; the answer is the exit code. */
export type Doctor = (options: DoctorOptions) => Promise<number>;

/** `pawl doctor`. */
export function addDoctor(
  program: Command,
  doctor: Doctor,
  setExitCode: (code: number) => void,
): void {
  program
    .command("doctor")
    .description(
      "say how a data folder is and what to do about it; asks the kernel that serves it, and only reads",
    )
    .option("--dir <folder>", "the data folder", DEFAULT_FOLDER)
    .option("--json", "print one JSON object")
    .option(
      "--token-file <file>",
      "file with the token to ask the kernel with (default: PAWL_TOKEN, PAWL_TOKEN_FILE)",
    )
    .action(async (options: DoctorOptions) => setExitCode(await doctor(options)));
}
