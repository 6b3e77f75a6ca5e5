import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKernelFile } from "@pawl/server/log/data-folder.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
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

test("a store that another process has open is refused, and is free when that process is killed", async () => {
  const directory = await mkdtemp(join(tmpdir(), "pawl-two-"));
  const child = startChild("write-until-killed.ts", [directory]);
  try {
    const ended = new Promise((resolve) => {
      child.on("close", resolve);
    });
    const isOpen = new Promise((resolve) => {
      child.stdout?.once("data", resolve);
    });
    child.stdout?.resume();
    await isOpen;
    if (child.pid === undefined) throw new Error("no child");
    await writeKernelFile(directory, { pid: child.pid, port: 7_295 });
    await expect(openDataFolder(directory, { create: true })).rejects.toMatchObject({
      code: "PAWL_STORE_LOCKED",
      pid: child.pid,
      message: expect.stringContaining(`process ${child.pid} (port 7295)`),
    });
    child.kill("SIGKILL");
    await ended;
    await (await openDataFolder(directory, { create: false })).close();
  } finally {
    child.kill("SIGKILL");
    await rm(directory, { recursive: true });
  }
});
