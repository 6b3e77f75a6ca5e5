import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { acknowledgedIn, expectAcknowledged } from "./support/acknowledged.js";
import { startChild } from "./support/child.js";

/** Runs the writer until it has acknowledged so many writes, then kills it. Gives all that it said. */
function writeAndKill(directory: string, firstRun: number, writes: number): Promise<string> {
  const child = startChild("write-until-killed.ts", [directory, String(firstRun)]);
  let output = "";
  let errors = "";
  child.stderr?.on("data", (data) => (errors += String(data)));
  child.stdout?.on("data", (data) => {
    output += String(data);
    if (output.split("\n").length > writes) child.kill("SIGKILL");
  });
  return new Promise((resolve, reject) => {
    child.on("close", (_code, signal) => {
      if (signal === "SIGKILL") resolve(output);
      else reject(new Error(`the writer ended by itself: ${output}${errors}`));
    });
  });
}

test("a store whose process is killed, again and again, loses nothing that it acknowledged", async () => {
  const directory = await mkdtemp(join(tmpdir(), "pawl-kill-"));
  try {
    const sequences: number[] = [];
    const runNumbers: number[] = [];
    for (const writes of [1, 2, 7, 50, 333]) {
      const acked = acknowledgedIn(await writeAndKill(directory, runNumbers.length * 2, writes));
      sequences.push(...acked.sequences);
      runNumbers.push(...acked.runNumbers);
      await expectAcknowledged(directory, { sequences, runNumbers });
    }
    expect(sequences.length).toBeGreaterThan(100);
  } finally {
    await rm(directory, { recursive: true });
  }
});
