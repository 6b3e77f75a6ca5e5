import { exitCodes } from "./exit-codes.js";
import type { Clock } from "./format/time.js";

/** What a command sees of the world. Tests give another. */
export interface CliContext {
  /** Results: people's text, or JSON with `--json`. */
  readonly writeOut: (text: string) => void;
  /** Everything else: notices and errors. */
  readonly writeError: (text: string) => void;
  /** Takes the lines of the log of `pawl serve`. Absent: stderr, without waiting for its reader. */
  readonly writeLog?: (line: string) => void;
  /** Whether a person reads stderr: the log is then written for people. */
  readonly isLogForPeople?: boolean;
  /** Whether results go to a terminal that shows colour. */
  readonly useColour: boolean;
  /** Whether a person sits there: `pawl serve` then restarts a kernel whose store failed. */
  readonly isInteractive: boolean;
  readonly clock: Clock;
  /** Folder in which `./.pawl` and `@file` are looked for. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends the process once all that was written has left it, whatever still holds it. Absent: its caller ends by itself. */
  readonly endProcess?: (code: number) => Promise<void>;
  /** Calls back when stdin ends, once; the answer stops listening and lets stdin go. */
  readonly onStdinEnd: (callback: () => void) => () => void;
}

/** The context of this process. */
export function processContext(): CliContext {
  const { env, stdout, stdin } = process;
  endQuietlyWithReader();
  return {
    writeOut: (text) => void stdout.write(text),
    writeError: (text) => void process.stderr.write(text),
    isLogForPeople: process.stderr.isTTY === true,
    useColour: wantsColour(stdout.isTTY === true, env),
    isInteractive: stdout.isTTY === true && stdin.isTTY === true,
    clock: {
      nowMs: () => Date.now(),
      offsetMinutes: (atMs) => -new Date(atMs).getTimezoneOffset(),
    },
    cwd: process.cwd(),
    env,
    endProcess: async (code) => {
      await Promise.all([written(stdout), written(process.stderr)]);
      process.exit(code);
    },
    onStdinEnd: (callback) => {
      stdin.once("end", callback).once("error", callback).resume();
      return () => {
        stdin.off("end", callback).off("error", callback);
        // An open pipe would keep this process alive.
        stdin.destroy();
      };
    },
  };
}

/** Resolves when all that was written before has left the process, or cannot any more. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}

/** Colour only on a terminal that has it, and never where `NO_COLOR` is set. */
export function wantsColour(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR: noColour, TERM: terminal } = env;
  return isTerminal && (noColour === undefined || noColour === "") && terminal !== "dumb";
}

/** `pawl run list | head` ends when head does. */
function endQuietlyWithReader(): void {
  process.stdout.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(exitCodes.ok);
  });
}
