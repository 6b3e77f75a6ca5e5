import type { CliContext } from "@pawl/server/cli/context.js";
import { main } from "@pawl/server/cli/main.js";

/** How a command ended. */
export interface CliEnd {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** 2026-03-01, 12:00:00 UTC: what all tests of this folder call now. Their zone is one hour ahead of UTC. */
export const NOW_MS: number = Date.UTC(2026, 2, 1, 12);

/** Runs the command in this process, with a clock that stands still. */
export async function runCli(
  args: readonly string[],
  changes: Partial<CliContext> = {},
): Promise<CliEnd> {
  let out = "";
  let errors = "";
  const code = await main(args, {
    writeOut: (text) => {
      out += text;
    },
    writeError: (text) => {
      errors += text;
    },
    writeLog: () => {},
    useColour: false,
    isInteractive: false,
    clock: { nowMs: () => NOW_MS, offsetMinutes: () => 60 },
    cwd: process.cwd(),
    env: {},
    onStdinEnd: () => () => {},
    ...changes,
  });
  return { code, out, errors };
}

/** The objects of output that holds one a line. */
export function parseLines(out: string): unknown[] {
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
