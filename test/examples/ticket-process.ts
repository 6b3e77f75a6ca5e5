import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect } from "vitest";
import {
  type CreateOutcome,
  type SinkMode,
  type TicketClient,
  ticketClient,
} from "../../examples/ticket-service/client.js";

const mainFile = fileURLToPath(
  new URL("../../examples/dist/ticket-service/main.js", import.meta.url),
);

/** How a child process ended, and what it wrote to stderr. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** A running ticket service, in a process of its own. */
export interface TicketProcess {
  readonly port: number;
  readonly baseUrl: string;
  readonly client: TicketClient;
  readonly child: ChildProcess;
  readonly ended: Promise<ProcessEnd>;
  /** Sends the signal and waits until the process is gone. */
  kill(signal: NodeJS.Signals): Promise<ProcessEnd>;
}

/** Starts a service from the build (`tsc -b examples`); resolves when it listens. */
export async function startTicketProcess(args: readonly string[]): Promise<TicketProcess> {
  const { child, ended } = spawnTicketProcess(args);
  const port = await Promise.race([
    readListeningLine(child),
    ended.then(({ code, stderr }) => {
      throw new Error(`the ticket service ended with ${code} before it listened: ${stderr}`);
    }),
  ]);
  const baseUrl = `http://127.0.0.1:${port}`;
  const kill = (signal: NodeJS.Signals): Promise<ProcessEnd> => {
    child.kill(signal);
    return ended;
  };
  return { port, baseUrl, client: ticketClient(baseUrl), child, ended, kill };
}

/** Starts a service that may refuse to start. */
export function spawnTicketProcess(args: readonly string[]): {
  readonly child: ChildProcess;
  readonly ended: Promise<ProcessEnd>;
} {
  const child = spawn(process.execPath, [mainFile, ...args], { stdio: "pipe" });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(() => ({
    code: child.exitCode,
    signal: child.signalCode,
    stderr,
  }));
  return { child, ended };
}

async function readListeningLine(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error("expected the child's stdout to be a pipe");
  for await (const line of createInterface(child.stdout)) {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && "listening" in value) {
      return Number(value.listening);
    }
    throw new Error(`expected {"listening":PORT}, but the first line is ${line}`);
  }
  throw new Error("the ticket service closed its output before it listened");
}

/** A folder for each test, and services that run on it; both are gone after the test. */
export interface TicketFolder {
  readonly dir: () => string;
  /** Starts a service on the folder and a free port. */
  readonly start: (...args: string[]) => Promise<TicketProcess>;
}

/** Gives every test of the file its own folder. */
export function useTicketFolder(): TicketFolder {
  let dir = "";
  let running: TicketProcess[] = [];
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "pawl-tickets-"));
    running = [];
  });
  afterEach(async () => {
    await Promise.all(running.map((service) => service.kill("SIGKILL")));
    await rm(dir, { recursive: true, force: true });
  });
  const start = async (...args: string[]): Promise<TicketProcess> => {
    const service = await startTicketProcess(["--dir", dir, "--port", "0", ...args]);
    running.push(service);
    return service;
  };
  return { dir: () => dir, start };
}

/** Creates the one ticket that most tests ask for. */
export function create(
  { client }: TicketProcess,
  mode: SinkMode,
  key: string,
): Promise<CreateOutcome> {
  const ticket = { title: "Disk full on db-2", body: "See the incident report." };
  return client.createTicket({ mode, key, ticket });
}

/** The ticket that {@link create} makes first, but for its mode and reference. */
export const ticketOne: Readonly<Record<string, unknown>> = {
  id: "T-1",
  title: "Disk full on db-2",
  body: "See the incident report.",
  createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
};

/** The counts that the books are expected to show. */
export function tally(calls: number, effects: number, lookups = 0, dropped = 0): object {
  return { calls, effects, lookups, dropped };
}
