import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const hooks = new URL("../../log/support/child-hooks.mjs", import.meta.url).href;
const script = fileURLToPath(new URL("kernel.ts", import.meta.url));
const restoreScript = fileURLToPath(new URL("restore.ts", import.meta.url));

/** A kernel in a child process. */
export interface KernelProcess {
  /** Its port; undefined when it ended before it listened. */
  readonly port: Promise<number | undefined>;
  /** How it ended: the signal or the exit code, and what it wrote to stderr. */
  readonly ended: Promise<{
    readonly how: string;
    readonly errors: string;
    /** What it wrote to stdout. */
    readonly output: string;
  }>;
  /** Asks it to end in order. */
  askToEnd(): void;
  kill(): void;
}

/** How a kernel is started. */
export interface KernelSettings {
  /** 0 takes any free one. Default 0. */
  readonly port?: number;
  /** A point of `crash-points.ts`, with or without a count. Default: none. */
  readonly crashAt?: string;
  /** Only while this file exists a point counts. Default: always. */
  readonly crashWhen?: string;
  /** How old what is in no rows becomes, in ms, before it is written. Default 20. */
  readonly checkpointAgeMs?: number;
  /** How far its clock is ahead of this machine's, in ms. Default 0. */
  readonly aheadMs?: number;
}

/** Starts a kernel on a folder. */
export function startKernel(dir: string, settings: KernelSettings = {}): KernelProcess {
  return startChild([script, dir, String(settings.port ?? 0)], settings);
}

/** Runs `pawl restore` on a folder. */
export function restoreFolder(dir: string, settings: KernelSettings = {}): KernelProcess {
  return startChild([restoreScript, dir], settings);
}

function startChild(args: readonly string[], settings: KernelSettings): KernelProcess {
  const { crashAt = "", crashWhen = "", checkpointAgeMs = 20, aheadMs = 0 } = settings;
  const flags = ["--conditions=pawl-source", "--import", hooks];
  const child = spawn(process.execPath, [...flags, ...args], {
    env: {
      ...process.env,
      PAWL_CRASH_AT: crashAt,
      PAWL_CRASH_WHEN: crashWhen,
      PAWL_TEST_CHECKPOINT_AGE_MS: String(checkpointAgeMs),
      PAWL_TEST_CLOCK_AHEAD_MS: String(aheadMs),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(() => ({
    how: child.signalCode ?? `exit code ${child.exitCode}`,
    errors,
    output,
  }));
  return {
    port: Promise.race([readPort(child), ended.then(() => undefined)]),
    ended,
    askToEnd: () => child.stdin.end(),
    kill: () => child.kill("SIGKILL"),
  };
}

async function readPort({ stdout }: ChildProcess): Promise<number | undefined> {
  if (stdout === null) return undefined;
  for await (const line of createInterface(stdout)) {
    const said: unknown = JSON.parse(line);
    if (typeof said === "object" && said !== null && "listening" in said) {
      // Whatever else is said is read, so that the pipe never fills.
      stdout.resume();
      return Number(said.listening);
    }
  }
  return undefined;
}
