/** Runs a script of this folder in a process of its own, from the TypeScript sources. */

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const HOOKS = new URL("./child-hooks.mjs", import.meta.url).href;

/** How a child ended and what it wrote. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly errors: string;
}

/** Starts `script` (a file name of this folder). */
export function startChild(script: string, args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const flags = ["--conditions=pawl-source", "--import", HOOKS];
  return spawn(process.execPath, [...flags, path, ...args], { stdio: ["pipe", "pipe", "pipe"] });
}

/** Runs `script` to its end. */
export function runChild(script: string, args: readonly string[]): Promise<ChildEnd> {
  const child = startChild(script, args);
  let output = "";
  let errors = "";
  child.stdout?.on("data", (data) => (output += String(data)));
  child.stderr?.on("data", (data) => (errors += String(data)));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, output, errors }));
  });
}
