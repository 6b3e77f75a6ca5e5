import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { clean } from "../format/text.js";
import { Output } from "../output.js";
import { type Exports, loadTestKit, loadUserModule, runUserCode } from "../user-module.js";

/** What became of the history with one version of its workflow. */
interface Replayed {
  readonly workflow: string;
  readonly fits: boolean;
  readonly difference: string;
  readonly unvisited: readonly string[];
  readonly next: readonly string[];
  readonly end: string;
}

/** What is used of `@pawl/sdk/testing`. */
interface ReplayKit {
  replayModule(history: string, exported: Exports): Promise<readonly Replayed[]>;
}

interface ReplayOptions {
  readonly module: string;
  readonly json?: boolean;
}

/** `pawl replay FILE`. */
export function addReplay(
  program: Command,
  context: CliContext,
  setExitCode: (code: number) => void,
): void {
  program
    .command("replay")
    .description(
      "run today's code of a workflow over the recorded history of a run, without doing anything, and say whether they fit",
    )
    .argument("<file>", "the history, as pawl run history RUN --json --stored prints it")
    .requiredOption("--module <file>", "a JavaScript module that exports the workflow")
    .option("--json", "print one JSON object a line")
    .action(async (file: string, options: ReplayOptions) =>
      setExitCode(await replayFile(context, file, options)),
    );
}

async function replayFile(
  context: CliContext,
  file: string,
  { module, json }: ReplayOptions,
): Promise<number> {
  const path = resolve(context.cwd, module);
  const history = await readHistory(resolve(context.cwd, file));
  const kit = await loadTestKit<ReplayKit>(path);
  const exported = await loadUserModule(path);
  const replays = await runUserCode(path, () => kit.replayModule(history, exported));
  print(new Output(context, json), replays);
  return replays.every(({ fits }) => fits) ? exitCodes.ok : exitCodes.refused;
}

async function readHistory(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw usageError(`Expected ${path} to hold a history, but ${why}.`, [
      "pawl run history RUN --json --stored",
    ]);
  }
}

function print(out: Output, replays: readonly Replayed[]): void {
  if (out.isJson) {
    for (const { unvisited, next, ...rest } of replays) {
      out.json({ ...rest, unvisited: [...unvisited], next: [...next] });
    }
    return;
  }
  for (const { workflow, fits, difference, unvisited, next, end } of replays) {
    const name = out.style("bold", clean(workflow));
    out.lines(
      `${name} ${fits ? out.style("good", "fits") : out.style("bad", "does not fit")} the history; over it, the code ${END[end] ?? end}.`,
    );
    if (difference !== "") out.lines(`  ${clean(difference)}`);
    if (unvisited.length > 0) out.lines(`  It did not reach ${clean(unvisited.join(", "))}.`);
    if (next.length > 0) out.lines(`  Beyond the records it asks for ${clean(next.join(", "))}.`);
  }
}

const END: Readonly<Record<string, string>> = {
  returned: "returns",
  threw: "fails",
  "goes on": "goes on",
};
