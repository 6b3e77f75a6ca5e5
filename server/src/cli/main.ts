import { type Command, CommanderError } from "commander";
import { type CliError, usageError } from "./cli-error.js";
import { addServe } from "./commands/serve.js";
import { type CliContext, processContext } from "./context.js";
import { describeOwn } from "./describe-error.js";
import { type ExitCode, exitCodes } from "./exit-codes.js";
import { addExamples } from "./help-examples.js";
import { inheritSettings, newProgram } from "./new-program.js";
import { printError } from "./print-error.js";
import type { HostCommands } from "./program.js";

/**
 * Runs `pawl` with the arguments behind its name; the answer is the exit code. Nothing is thrown: what goes wrong is
 * printed as a sentence with what to do next.
 */
export async function main(
  args: readonly string[],
  context: CliContext = processContext(),
): Promise<number> {
  const exitCode = await run(args, context);
  if (RUNS_CODE_OF_OTHERS.has(args[0] ?? "")) await context.endProcess?.(exitCode);
  return exitCode;
}

/** Commands that load a module of the user, which may hold the process for ever: a timer, a pool of connections. */
const RUNS_CODE_OF_OTHERS: ReadonlySet<string> = new Set(["demo", "replay"]);

async function run(args: readonly string[], context: CliContext): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const program = await programFor(args[0], context, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(helpWords(program, args), { from: "user" });
    return exitCode;
  } catch (error) {
    return tell(context, error, program, args);
  }
}

function tell(
  context: CliContext,
  error: unknown,
  program: Command,
  args: readonly string[],
): ExitCode {
  const told = error instanceof CommanderError ? commandLineError(error, program, args) : error;
  if (told === undefined) return exitCodes.ok;
  const cliError = describeOwn(told);
  // Nobody is left without a next step: where an error has none of its own, the help says what the command takes.
  const next = cliError.next.length === 0 ? [helpCommand(program, args)] : cliError.next;
  printError(context, cliError.withNext(next), args.includes("--json"));
  return cliError.exitCode;
}

/** A wrong command line as an error of ours; nothing when help or a version was asked for and given. */
function commandLineError(
  error: CommanderError,
  program: Command,
  args: readonly string[],
): CliError | undefined {
  if (error.exitCode === 0) return undefined;
  const next = [helpCommand(program, args)];
  if (error.code === "commander.help") {
    return usageError("Expected a command, but none was given.", next);
  }
  const found = error.message.replace(/^error: /, "");
  return usageError(
    `Expected a command line that pawl knows, but ${found.replace(/\.$/, "")}.`,
    next,
  );
}

/** `help run start` means `run start --help`; commander itself reads only one word behind `help`. */
function helpWords(program: Command, args: readonly string[]): string[] {
  const [first, ...words] = args;
  if (first !== "help" || words.length < 2) return [...args];
  let command: Command | undefined = program;
  for (const word of words) {
    command = command === undefined ? undefined : childOf(command, word);
  }
  return command === undefined ? [...args] : [...words, "--help"];
}

function childOf(command: Command, word: string): Command | undefined {
  return command.commands.find((each) => each.name() === word);
}

/** What prints the help of the command that was meant, as far as its words are known. */
function helpCommand(program: Command, args: readonly string[]): string {
  const words: string[] = [];
  let command = program;
  for (const word of args) {
    const child = childOf(command, word);
    if (child === undefined) break;
    words.push(word);
    command = child;
  }
  // Before the first command npx takes `--help` for its own.
  return words.length === 0 ? "npx --no pawl help" : `npx --no pawl ${words.join(" ")} --help`;
}

/** A kernel should serve soon after a crash, so `serve` loads none of the other commands; they take as long as opening a small store. */
async function programFor(
  command: string | undefined,
  context: CliContext,
  setExitCode: (code: number) => void,
): Promise<Command> {
  const host = hostCommands(context);
  if (command !== "serve") {
    return (await import("./program.js")).buildProgram(context, host, setExitCode);
  }
  const program = newProgram(context);
  addServe(program, host.serve, setExitCode);
  addExamples(program);
  inheritSettings(program);
  return program;
}

/** Loaded only when asked for: the other commands need neither the store nor the kernel. */
function hostCommands(context: CliContext): HostCommands {
  return {
    serve: async (options) => (await import("./serve/serve.js")).serve(context, options),
    restore: async (options) => (await import("./restore/restore.js")).restore(context, options),
    doctor: async (options) => (await import("./doctor/doctor.js")).doctor(context, options),
    verifyExport: async (file, options) =>
      (await import("./verify/verify-export.js")).verifyExport(context, file, options),
    verify: async (options) => (await import("./verify/verify.js")).verify(context, options),
  };
}
