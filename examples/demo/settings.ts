import { parseArgs } from "node:util";
import { type SinkMode, sinkModes } from "../ticket-service/wire.js";
import type { Row } from "./scene.js";
import { type Window, windows } from "./windows.js";

/** What `npm run demo -- …` was asked for. */
export interface Settings {
  /** Prints one JSON object a line. */
  readonly json: boolean;
  /** The lines to play, in the order of the table. */
  readonly rows: readonly Row[];
  /** Prints how to use it, and does nothing. */
  readonly asksHelp: boolean;
}

/** How to use it. */
export const usage: string = `usage: npm run demo [-- [--json] [--window NAME] [--sink NAME]]
  --json         print one JSON object a line
  --window NAME  only the windows that begin so: ${listWindows()}
  --sink NAME    only the sinks that begin so: ${sinkModes.join(", ")}`;

/** Four a line, under each other. */
function listWindows(): string {
  const starts = Array.from({ length: Math.ceil(windows.length / 4) }, (_, line) => line * 4);
  const lines = starts.map((start) => windows.slice(start, start + 4).join(", "));
  return lines.join(",\n                 ");
}

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
  const { json, window, sink, help: asksHelp } = parse(argv);
  const ofWindow = windows.filter((each: Window) => each.startsWith(window));
  const ofSink = sinkModes.filter((each: SinkMode) => each.startsWith(sink));
  if (ofWindow.length === 0) {
    throw new SettingsInvalid(`Expected --window to begin a window's name, but it is "${window}".`);
  }
  if (ofSink.length === 0) {
    throw new SettingsInvalid(`Expected --sink to begin a sink's name, but it is "${sink}".`);
  }
  const rows = ofWindow.flatMap((each) =>
    ofSink.map((mode): Row => ({ window: each, sink: mode })),
  );
  return { json, rows, asksHelp };
}

function parse(argv: readonly string[]): {
  readonly json: boolean;
  readonly window: string;
  readonly sink: string;
  readonly help: boolean;
} {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        json: { type: "boolean", default: false },
        window: { type: "string", default: "" },
        sink: { type: "string", default: "" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    throw new SettingsInvalid(error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}
