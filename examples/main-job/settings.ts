import { parseArgs } from "node:util";

/** What `npm start -- …` was asked for. */
export interface Settings {
  /** Port of the kernel; 0 takes any free one. */
  readonly port: number;
  /** Starts another run, though the present one may have ended. */
  readonly startsNew: boolean;
  /** Prints how to use it, and does nothing. */
  readonly asksHelp: boolean;
}

/** Where the kernel listens unless told otherwise. */
export const defaultPort = 7295;

/** How to use it. */
export const usage: string = `usage: npm start [-- [--new] [--port N]]
  --new     start another run
  --port N  let the kernel listen on port N (default ${defaultPort}; 0 takes any free port)`;

/** The command line is not understood. */
export class SettingsInvalid extends Error {
  override readonly name = "SettingsInvalid";
  readonly code = "PAWL_EXAMPLE_USAGE";
}

/**
 * Reads the arguments.
 * @throws SettingsInvalid
 */
export function readSettings(argv: readonly string[]): Settings {
  const { port: portText, new: startsNew, help: asksHelp } = parse(argv);
  const port = Number(portText);
  if (!/^\d{1,5}$/.test(portText) || port > 65_535) {
    throw new SettingsInvalid(
      `Expected --port to be a number from 0 to 65535, but it is "${portText}".`,
    );
  }
  return { port, startsNew, asksHelp };
}

function parse(argv: readonly string[]): {
  readonly port: string;
  readonly new: boolean;
  readonly help: boolean;
} {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        port: { type: "string", default: String(defaultPort) },
        new: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    throw new SettingsInvalid(error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}
