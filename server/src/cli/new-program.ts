import { Command } from "commander";
import type { CliContext } from "./context.js";
import { readVersion } from "./version.js";

const EXIT_CODES = `
Exit codes: 0 done, 1 refused, 2 wrong command line, 69 no kernel answered, 70 the store failed, 75 no answer yet.`;

/** The `pawl` command without any of its commands. */
export function newProgram(context: CliContext): Command {
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
  return program.addHelpText("after", EXIT_CODES);
}

/** Commands made with `command()` copy settings only from what was set before; those made in groups need it too. */
export function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}
