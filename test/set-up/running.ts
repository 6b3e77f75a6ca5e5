import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from "node:fs";
import { connect } from "node:net";
import { basename, delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Long enough for `npm ci` on a slow and busy machine; a wait that long is a failure. */
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 20;

/** A command under way, in a process group of its own, like one that a person starts in a shell. */
export interface Running {
  readonly pid: number;
  readonly output: () => string;
  readonly errors: () => string;
  /** Waits for a line on stdout that is a JSON object with this `event`. */
  readonly event: (name: string) => Promise<Record<string, unknown>>;
  /** Waits until this text stands on stderr. */
  readonly said: (text: string) => Promise<void>;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Sends a signal to the command alone, as `kill` does. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Sends a signal to the command and all it started in the foreground, as a terminal does. */
  readonly killGroup: (signal: NodeJS.Signals) => void;
  /** Nobody reads the output any more, as after a terminal was closed. */
  readonly stopReading: () => void;
}

/** How to start a command. */
export interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts a program and watches its output. */
export function run(command: string, args: readonly string[], options: RunOptions): Running {
  const env = { ...cleanEnvironment(), ...options.env };
  const child = spawn(command, args, {
    cwd: options.cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`expected to start ${command}, but it has no pid`);
  const output = collect(child.stdout);
  const errors = collect(child.stderr);
  const exit = waitForExit(child);
  const view = () => `stdout:\n${output()}\nstderr:\n${errors()}`;
  return {
    pid,
    output,
    errors,
    exit,
    event: async (name) => {
      await waitUntil(() => findEvent(output(), name) !== undefined, `event ${name}`, view);
      return findEvent(output(), name) ?? {};
    },
    said: (text) => waitUntil(() => errors().includes(text), `"${text}" on stderr`, view),
    kill: (signal) => process.kill(pid, signal),
    killGroup: (signal) => process.kill(-pid, signal),
    stopReading: () => {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

function waitForExit(child: ChildProcess): Running["exit"] {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

function findEvent(text: string, name: string): Record<string, unknown> | undefined {
  return text
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line): Record<string, unknown> => JSON.parse(line))
    .find((object) => object["event"] === name);
}

/** Looks again and again until something is so; fails, saying what it saw, after two minutes. */
export async function waitUntil(
  isSo: () => boolean | Promise<boolean>,
  what: string,
  view: () => string = () => "",
): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}\n${view()}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Whether a process lives. A zombie does not: it only waits for a parent that may never come. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    // ESRCH: there is no such process.
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return process.platform !== "linux" || !existsSync(stat) || !isZombie(stat);
}

function isZombie(stat: string): boolean {
  try {
    return /\) Z /.test(readFileSync(stat, "latin1"));
  } catch {
    // It ended between the two looks.
    return true;
  }
}

/** Whether something listens on a loopback port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/** The claims on the set-up lock that are left. */
export function listClaims(root: string): string[] {
  const folder = join(root, ".set-up", "lock");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** This process's environment without what npm and vitest add for their children. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const isForeign = /^(?:npm_|vitest|NODE_|CI$|TEST$|PROD$|DEV$|MODE$|BASE_URL$|SSR$)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign.test(name)));
}

/** The npm that runs these tests, else the first on the PATH, as a file to be run by Node. */
export function findNpm(): string {
  const running = process.env["npm_execpath"];
  if (running !== undefined) {
    const sibling = join(dirname(running), "npm-cli.js");
    if (basename(running).startsWith("np") && existsSync(sibling)) return sibling;
  }
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    if (existsSync(join(folder, "npm"))) return realpathSync(join(folder, "npm"));
  }
  throw new Error("expected npm on the PATH, but there is none");
}

/** Makes a folder with node and sh in it and nothing else: a PATH that has no git. */
export function makeBarePath(folder: string): string {
  mkdirSync(folder, { recursive: true });
  symlinkSync(process.execPath, join(folder, "node"));
  for (const name of ["sh", "env"]) {
    const original = ["/bin", "/usr/bin"].map((at) => join(at, name)).find(existsSync);
    if (original === undefined) throw new Error(`expected ${name} in /bin or /usr/bin`);
    symlinkSync(original, join(folder, name));
  }
  return folder;
}
