import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { nodeFlags } from "@pawl/server/cli/serve/node-flags.js";

/** A process of the bench that answers one JSON line per JSON line. */
export interface Child {
  readonly pid: number;
  /** Sends a line and gives the next line it prints. */
  ask<T>(message: unknown): Promise<T>;
  /** The next line it prints. */
  next<T>(): Promise<T>;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  /** Closes its standard input and waits for its end. */
  end(): Promise<void>;
}

/** Starts a Node process, with the flags that `pawl serve --restart` gives to a kernel. Its errors go to ours. */
export function startChild(file: string, args: readonly string[]): Child {
  const child = spawn(process.execPath, [...nodeFlags(process.execArgv), file, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const waiting: ((line: string | undefined) => void)[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    const waiter = waiting.shift();
    if (waiter === undefined) {
      lines.push(line);
    } else {
      waiter(line);
    }
  });
  reader.on("close", () => {
    for (const waiter of waiting.splice(0)) {
      waiter(undefined);
    }
  });
  const next = async <T>(): Promise<T> => {
    const line =
      lines.shift() ?? (await new Promise<string | undefined>((resolve) => waiting.push(resolve)));
    if (line === undefined) {
      throw new Error(`Expected ${file} to print a line, but it ended (code ${child.exitCode}).`);
    }
    return JSON.parse(line) as T;
  };
  return {
    pid: child.pid ?? 0,
    next,
    ask: (message) => {
      child.stdin.write(`${JSON.stringify(message)}\n`);
      return next();
    },
    kill: () => stop(child, () => child.kill("SIGKILL")),
    end: () => stop(child, () => child.stdin.end()),
  };
}

async function stop(child: ChildProcess, how: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const ended = once(child, "exit");
  how();
  await ended;
}
