import { Command } from "commander";
import { addInfo } from "./commands/info.js";
import { addNamespaceCommands } from "./commands/namespace.js";
import { addOpCommands } from "./commands/op.js";
import { addReport } from "./commands/report.js";
import { addRestore, type Restore } from "./commands/restore.js";
import { addReviewsCommands } from "./commands/reviews.js";
import { addRunCommands } from "./commands/run.js";
import { addServe, type Serve } from "./commands/serve.js";
import { addTokenCommands } from "./commands/token.js";
import { addVerify, type Verify } from "./commands/verify.js";
import { addWhy } from "./commands/why.js";
import type { CliContext } from "./context.js";
import { readVersion } from "./version.js";

/** The commands that run a kernel's own parts in this process; who puts the program together gives them. */
export interface HostCommands {
  readonly serve: Serve;
  readonly verify: Verify;
  readonly restore: Restore;
}

/** The `pawl` command with all its commands. `setExitCode` is called by those that end with a code of their own. */
export function buildProgram(
  context: CliContext,
  host: HostCommands,
  setExitCode: (code: number) => void,
): Command {
  const program = new Command("pawl")
    .description("Pawl: durable workflows whose acknowledged work never slips back.")
    .helpCommand("help [command]", "show the help of a command")
    .version(readVersion(), "--version", "print the version")
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: context.writeOut,
      // Errors of the command line are told by main, as all errors are.
      outputError: () => {},
      writeErr: context.writeError,
    });
  program.addHelpText("after", EXIT_CODES);
  addServe(program, host.serve, setExitCode);
  addVerify(program, host.verify, setExitCode);
  addRestore(program, host.restore, setExitCode);
  addRunCommands(program, context);
  addWhy(program, context);
  addReport(program, context);
  addOpCommands(program, context);
  addReviewsCommands(program, context);
  addInfo(program, context);
  addNamespaceCommands(program, context);
  addTokenCommands(program, context);
  inheritSettings(program);
  return program;
}

const EXIT_CODES = `
Exit codes: 0 done, 1 refused, 2 wrong command line, 69 no kernel answered, 70 the store failed.`;

/** Commands made with \`command()\` copy settings only from what was set before; those made in groups need it too. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}
