import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServeOptions } from "../commands/serve.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { formatLength } from "../format/time.js";
import { Output } from "../output.js";
import { nodeFlags } from "./node-flags.js";
import { listenForStop, type StopRequest } from "./stop-request.js";

/** Waits before a new life, in ms, by how many lives in a row never listened. The last one repeats. */
const BACKOFF_MS: readonly number[] = [250, 1_000, 2_000, 5_000, 10_000, 30_000];

/** How one life of the kernel ended. */
interface Life {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The port it listened on; undefined if it never did. */
  readonly port: number | undefined;
}

/**
 * Serves in a child process and starts it afresh when its store failed or it was killed. A first life that never listened
 * is not tried again: that needs a person.
 */
export async function supervise(context: CliContext, options: ServeOptions): Promise<number> {
  const out = new Output(context, options.json);
  const stop = listenForStop(context, options.exitWithParent === true);
  const stopped = stop.asked.then(() => "stopped" as const);
  let port: number | undefined;
  let failures = 0;
  try {
    for (;;) {
      const life = await live({ ...options, port: port ?? options.port }, stop);
      const soon = await Promise.race([stopped, Promise.resolve("going on")]);
      port = life.port ?? port;
      if (soon === "stopped") return life.code ?? exitCodes.ok;
      if (port === undefined || !isWorthAnother(life)) return life.code ?? exitCodes.storeFailed;
      failures = life.port === undefined ? failures + 1 : 0;
      const waitMs = backoffMs(failures);
      out.notice(describeRestart(life, waitMs));
      if ((await Promise.race([stopped, sleep(waitMs)])) === "stopped") return exitCodes.ok;
    }
  } finally {
    stop.close();
  }
}

function backoffMs(failures: number): number {
  return BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 0;
}

function describeRestart({ signal }: Life, waitMs: number): string {
  const how = signal === null ? "ended because its store failed" : `was ended by ${signal}`;
  return `The kernel ${how}; it starts afresh from disk in ${formatLength(waitMs)}.`;
}

function isWorthAnother({ code, signal }: Life): boolean {
  return code === exitCodes.storeFailed || signal !== null;
}

/** Runs one life. A stop reaches the child as the end of its stdin; a second signal kills it. */
function live(options: ServeOptions, stop: StopRequest): Promise<Life> {
  const child = startChild(options);
  let port: number | undefined;
  child.on("message", (message: unknown) => {
    port = readListening(message) ?? port;
  });
  void stop.asked.then(() => child.stdin?.end());
  void stop.insisted.then(() => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal, port }));
  });
}

/** A length as `readLength` reads it: it came from there, so the largest unit has few enough digits. */
function lengthText(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
  const unit = Object.entries(units).find(([, unitMs]) => ms % unitMs === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}

function startChild(options: ServeOptions): ChildProcess {
  const { dir, host, port, json } = options;
  const [, script = ""] = process.argv;
  const args = ["serve", "--dir", dir, "--host", host, "--port", `${port}`];
  const flags = ["--no-restart", "--exit-with-parent", ...(json === true ? ["--json"] : [])];
  const named = {
    "--tokens": options.tokens,
    "--tls-cert": options.tlsCert,
    "--tls-key": options.tlsKey,
    "--client-ca": options.clientCa,
    "--log-level": options.logLevel,
    "--log-retention": lengthText(options.logRetentionMs),
    "--log-retention-bytes": options.logRetentionBytes?.toString(),
  };
  for (const [flag, value] of Object.entries(named)) {
    if (value !== undefined) flags.push(flag, value);
  }
  for (const name of options.allowHost ?? []) flags.push("--allow-host", name);
  return spawn(
    process.execPath,
    [...nodeFlags(process.execArgv, process.env["NODE_OPTIONS"]), script, ...args, ...flags],
    {
      stdio: ["pipe", "inherit", "inherit", "ipc"],
    },
  );
}

function readListening(message: unknown): number | undefined {
  if (typeof message !== "object" || message === null || !("listening" in message))
    return undefined;
  const { listening } = message;
  if (typeof listening !== "object" || listening === null || !("port" in listening))
    return undefined;
  return typeof listening.port === "number" ? listening.port : undefined;
}
