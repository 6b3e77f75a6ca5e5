import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openTestEnvironment } from "@pawl/sdk/testing";
import type { Golden } from "./golden.js";

/** Same as in every golden history: no file of them differs for the day on which it was written. */
const startAt = new Date("2026-01-05T00:00:00Z");

/**
 * Plays the code in a folder and writes its histories there, a file for each moment: MOMENT.jsonl, in the lines that `pawl run history RUN --json --stored` prints.
 *
 * @returns The names of the files.
 * @throws Error when one of them is there: what an earlier commit wrote is never written again.
 */
export async function writeHistories(
  folder: string,
  { play }: Pick<Golden<unknown, unknown>, "play">,
): Promise<string[]> {
  // Stacks are of no use to a replay, and name the folders of the machine.
  Error.stackTraceLimit = 0;
  await using env = await openTestEnvironment({ startAt });
  const written = new Map<string, string>();
  await play(env, async (moment, runId) => {
    const history = await env.history(runId);
    if (typeof history === "string") throw new Error("expected events");
    written.set(moment, history.map((event) => `${JSON.stringify(event)}\n`).join(""));
  });
  const files: string[] = [];
  for (const [moment, lines] of written) {
    // Made as a new file, or not at all.
    await writeFile(join(folder, `${moment}.jsonl`), lines, { flag: "wx" });
    files.push(`${moment}.jsonl`);
  }
  return files;
}
