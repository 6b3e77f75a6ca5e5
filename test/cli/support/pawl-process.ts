import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const HOOKS = new URL("../../log/support/child-hooks.mjs", import.meta.url).href;
const SCRIPT = fileURLToPath(new URL("pawl.mjs", import.meta.url));
const FLAGS = ["--conditions=pawl-source", "--import", HOOKS, SCRIPT];

/** How a process ended, and what it wrote. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly errors: string;
}

/** A command that runs in a process of its own. */
export interface PawlProcess {
  readonly child: ChildProcess;
  readonly end: Promise<ProcessEnd>;
  /** The n-th line of stdout, from 1, as soon as it is whole; rejects when the process ends without it. */
  line(number: number): Promise<string>;
}

/** Starts `pawl` in a folder, with a pipe as stdin. */
export function startPawl(cwd: string, args: readonly string[]): PawlProcess {
  return watch(spawn(process.execPath, [...FLAGS, ...args], { cwd, stdio: "pipe" }));
}

/** The same with so little room for objects. */
export function startSmallPawl(cwd: string, heapMib: number, args: readonly string[]): PawlProcess {
  const small = [`--max-old-space-size=${heapMib}`, ...FLAGS, ...args];
  return watch(spawn(process.execPath, small, { cwd, stdio: "pipe" }));
}

/** The same where no file may grow beyond a length; what writes more is refused, and not killed. */
export function startLimitedPawl(
  cwd: string,
  fileKibMax: number,
  args: readonly string[],
): PawlProcess {
  const script = `ulimit -f ${fileKibMax}; exec "$0" "$@"`;
  const command = ["-c", script, process.execPath, ...FLAGS, ...args];
  return watch(spawn("bash", command, { cwd, stdio: "pipe" }));
}

/** Runs `pawl` in a folder to its end. */
export function runPawl(cwd: string, args: readonly string[]): Promise<ProcessEnd> {
  return startPawl(cwd, args).end;
}

/** Makes a folder with an `npx` that starts the sources, and runs command lines with it as a shell does. */
export async function shellIn(folder: string): Promise<(line: string) => Promise<ProcessEnd>> {
  const npx = join(folder, "npx");
  const words = [process.execPath, ...FLAGS].map((word) => `'${word}'`).join(" ");
  const check = `[ "$1 $2" = "--no pawl" ] || { echo "expected --no pawl, got $*" >&2; exit 99; }`;
  await writeFile(npx, `#!/bin/sh\n${check}\nshift 2\nexec ${words} "$@"\n`);
  await chmod(npx, 0o755);
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` };
  return (line) => watch(spawn("bash", ["-c", line], { cwd: folder, env, stdio: "pipe" })).end;
}

function watch(child: ChildProcess): PawlProcess {
  let out = "";
  let errors = "";
  const listeners = new Set<() => void>();
  child.stdout?.on("data", (data) => {
    out += String(data);
    for (const listener of listeners) listener();
  });
  child.stderr?.on("data", (data) => (errors += String(data)));
  const end = new Promise<ProcessEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, out, errors }));
  });
  const line = (number: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const lines = out.split("\n");
        if (lines.length > number) resolve(lines[number - 1] ?? "");
      };
      listeners.add(look);
      void end.then(({ code }) =>
        reject(new Error(`Expected line ${number}, but it ended with ${code}: ${out}${errors}`)),
      );
      look();
    });
  return { child, end, line };
}

/** The words that bash makes of a printed command, behind `npx --no pawl`. */
export function wordsOf(command: string): string[] {
  const script = `npx() { printf '%s\\0' "$@"; }; ${command}`;
  const env = { ...process.env, LC_ALL: "C.UTF-8" };
  const words = execFileSync("bash", ["-c", script], { encoding: "utf8", env }).split("\0");
  const [no, pawl, ...args] = words.slice(0, -1);
  if (no !== "--no" || pawl !== "pawl") throw new Error(`Expected npx --no pawl, got ${command}`);
  return args;
}

/** The commands that a text tells people to run. */
export function printedCommands(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("npx "));
}
