import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What is kept of a data folder: the rest is hints, locks and room. */
const KEPT = ["STORE", "secret", "db"];
/** LevelDB's diary, which nothing reads, and its lock. */
const LEFT_OUT = new Set(["LOG", "LOG.old", "LOCK"]);

/**
 * Writes a store by what the code says, and keeps it.
 *
 * @returns What was written.
 * @throws Error when a store is there: what an earlier commit wrote is never written again.
 */
export async function writeStore(code: string, folder: string): Promise<string[]> {
  const kept = join(folder, "store");
  if (!existsSync(code)) throw new Error(`Expected ${code}, but there is none.`);
  if (existsSync(kept)) throw new Error(`Expected no ${kept}, but it is there. Take a new name.`);
  const made = await mkdtemp(join(tmpdir(), "pawl-golden-"));
  try {
    const dir = join(made, "store");
    for (const step of ["fill", "leave"]) await runStep(code, dir, step);
    for (const name of KEPT) {
      const filter = (path: string): boolean => !LEFT_OUT.has(basename(path));
      await cp(join(dir, name), join(kept, name), { recursive: true, filter });
    }
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  return KEPT.map((name) => `store/${name}`);
}

async function runStep(code: string, dir: string, step: string): Promise<void> {
  const script = fileURLToPath(new URL("fill-store.js", import.meta.url));
  const child = spawn(process.execPath, [script, code, dir, step], { stdio: "inherit" });
  const [exit, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on("close", (...end) => resolve(end));
  });
  if (step === "leave" ? signal !== "SIGKILL" : exit !== 0) {
    throw new Error(`Expected the step "${step}" to end, but it ended with ${exit ?? signal}.`);
  }
}
