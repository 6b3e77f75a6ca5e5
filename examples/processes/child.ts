import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** How to start a child. */
export interface ChildOptions {
  /** What runs: a file of JavaScript, then its arguments. */
  readonly command: readonly [file: string, ...args: string[]];
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Told of every whole line that the child prints. */
  readonly onLine?: (line: string, stream: "stdout" | "stderr") => void;
}

/** How a child ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last lines that it wrote to stderr. */
  readonly lastErrors: readonly string[];
}

/** A Node process that lives at most as long as this one: when its stdin closes, it ends in order. */
export interface Child {
  readonly pid: number;
  /**
   * The first line on stdout that is a JSON object with this field: how a child says that it is ready.
   * Undefined when the child ended without such a line.
   */
  says(field: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  readonly ended: Promise<ChildEnd>;
  /** Closes its stdin, which asks it to end in order. */
  askToEnd(): void;
  kill(signal: NodeJS.Signals): void;
}

const lastErrorsMax = 20;

/** Starts a child with the Node that runs this process. */
export function startChild({ command, env = {}, onLine }: ChildOptions): Child {
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    // A process group of its own: Ctrl-C and a closed terminal reach the parent alone, which ends its children in order.
    detached: true,
  });
  const objects: Readonly<Record<string, unknown>>[] = [];
  const lastErrors: string[] = [];
  const { stdin, stdout, stderr } = child;
  const output = createInterface(stdout).on("line", (line) => {
    const object = readObject(line);
    if (object !== undefined) objects.push(object);
    onLine?.(line, "stdout");
  });
  createInterface(stderr).on("line", (line) => {
    lastErrors.push(line);
    lastErrors.splice(0, lastErrors.length - lastErrorsMax);
    onLine?.(line, "stderr");
  });
  // A child that is gone cannot be asked any more; that it is gone is told by `ended`.
  stdin.on("error", () => undefined);
  const ended = new Promise<ChildEnd>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, lastErrors }));
  });
  return {
    // Without a pid it never started, and `ended` rejects with the reason.
    pid: child.pid ?? 0,
    ended,
    says: async (field) => {
      const find = () => objects.find((object) => field in object);
      while (find() === undefined) {
        const isOver = await Promise.race([
          once(output, "line").then(() => false),
          ended.then(() => true),
        ]);
        if (isOver) break;
      }
      return find();
    },
    askToEnd: () => stdin.end(),
    kill: (signal) => child.kill(signal),
  };
}

function readObject(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    // A line that only looks like JSON is one for people.
    return undefined;
  }
}
