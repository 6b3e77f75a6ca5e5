import type { Command } from "commander";

/** Options of `pawl export verify`. */
export interface VerifyExportOptions {
  readonly json?: boolean;
}

/** Does `pawl export verify`; the answer is the exit code. */
export type VerifyExport = (file: string, options: VerifyExportOptions) => Promise<number>;

/** `pawl export …`. */
export function addExportCommands(
  program: Command,
  verifyExport: VerifyExport,
  setExitCode: (code: number) => void,
): void {
  program
    .command("export")
    .description("what pawl run export wrote")
    .command("verify")
    .description("check an export of runs from nothing but its bytes; asks no kernel")
    .argument("<file>", "what pawl run export wrote")
    .option("--json", "print one JSON object")
    .action(async (file: string, options: VerifyExportOptions) =>
      setExitCode(await verifyExport(file, options)),
    );
}
