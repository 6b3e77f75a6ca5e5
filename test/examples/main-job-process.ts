import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { ticketClient } from "../../examples/ticket-service/client.js";
import { isAlive, isListening, type Running, run, waitUntil } from "../set-up/running.js";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const pawl = join(repository, "server/bin/pawl.js");
const supervisor = new URL("../../examples/dist/main-job/supervisor.js", import.meta.url).href;

/** What `npm start` does once all is built (scripts/lib/go-on.mjs), in whatever folder it is started in. */
const script = `
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
const { main } = await import(${JSON.stringify(supervisor)});
process.exit(await main(process.argv.slice(1)));
`;

/** The processes that the supervisor keeps running. */
export const childNames = ["kernel", "tickets", "worker"] as const;

/** One of them. */
export type ChildName = (typeof childNames)[number];

/** A folder of its own, in which `npx --no pawl` finds the command as in a clone. */
export interface JobFolder {
  readonly path: string;
  /** Starts the main job in it; the kernel takes a free port unless the arguments name one. */
  readonly start: (...args: string[]) => MainJob;
  /** Ends all that was started, and removes the folder. */
  readonly remove: () => Promise<void>;
}

/** A main job under way. */
export interface MainJob extends Running {
  /** Waits until this text stands on stdout. */
  readonly shows: (text: string) => Promise<void>;
  /** The process ids of a child, one for each of its lives so far. */
  readonly lives: (name: ChildName) => readonly number[];
  /** Waits until a child has had so many lives, and gives the last one's process id. */
  readonly life: (name: ChildName, count: number) => Promise<number>;
  /** The commands that were printed. */
  readonly commands: () => readonly string[];
  /** Waits for the question and answers it, in a shell, by the command that is printed with it. */
  readonly decide: (verdict: "approve" | "reject") => Promise<void>;
}

/** Makes a folder for one test. */
export function makeJobFolder(): JobFolder {
  const path = mkdtempSync(join(tmpdir(), "pawl-main-job-"));
  symlinkSync(join(repository, "node_modules"), join(path, "node_modules"));
  const jobs: MainJob[] = [];
  return {
    path,
    start: (...args) => {
      const job = startJob(path, args.includes("--port") ? args : ["--port", "0", ...args]);
      jobs.push(job);
      return job;
    },
    remove: async () => {
      for (const job of jobs) {
        // SIGKILL to the supervisor ends the others by their closed pipes; those that would not are found and ended here.
        if (isAlive(job.pid)) job.kill("SIGKILL");
        await job.exit;
        await expectGone(job);
      }
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function startJob(cwd: string, args: readonly string[]): MainJob {
  const flags = ["--input-type=module", "-e", script, "--", ...args];
  const running = run(process.execPath, flags, { cwd });
  const view = (): string => `${running.output()}\n${running.errors()}`;
  const commands = (): string[] =>
    [...running.output().matchAll(/^ +(npx --no pawl .+)$/gm)].map(([, command]) => command ?? "");
  const lives = (name: ChildName): number[] =>
    [...running.output().matchAll(new RegExp(`^${name} .*\\(process (\\d+)\\)$`, "gm"))].map(
      ([, pid]) => Number(pid),
    );
  return {
    ...running,
    lives,
    shows: (text) => waitUntil(() => running.output().includes(text), `"${text}"`, view),
    life: async (name, count) => {
      await waitUntil(() => lives(name).length >= count, `life ${count} of the ${name}`, view);
      return lives(name).at(-1) ?? 0;
    },
    commands,
    decide: async (verdict) => {
      const find = (): string | undefined =>
        commands().findLast((command) => command.startsWith(`npx --no pawl approvals ${verdict} `));
      await waitUntil(() => find() !== undefined, `how to ${verdict}`, view);
      await succeed(find() ?? "", cwd);
    },
  };
}

/** The kernel did not answer: it was killed, and is being started again. */
const unavailableCode = 69;

/** Runs a line in a shell, again while the kernel is down, as a person would; answers what it printed. */
export async function succeed(line: string, cwd: string): Promise<string> {
  for (;;) {
    const shell = run("/bin/sh", ["-c", line], { cwd });
    const { code } = await shell.exit;
    if (code === unavailableCode) continue;
    expect({ line, code, errors: shell.errors() }).toEqual({ line, code: 0, errors: "" });
    return shell.output();
  }
}

/** Starts `pawl serve` by itself on the folder of the main job. */
export function serveAlone({ path }: JobFolder): Running {
  const flags = ["--dir", ".pawl", "--port", "0", "--json"];
  return run(process.execPath, [pawl, "serve", ...flags], { cwd: path });
}

/** Everything that a job started is gone: its processes, and its ports. */
export async function expectGone(job: MainJob): Promise<void> {
  for (const name of childNames) {
    for (const pid of job.lives(name)) {
      await waitUntil(() => !isAlive(pid), `the end of ${name} ${pid}`, job.output);
    }
  }
  for (const [, port] of job.output().matchAll(/ready at http:\/\/127\.0\.0\.1:(\d+)/g)) {
    await waitUntil(async () => !(await isListening(Number(port))), `port ${port} to be free`);
  }
}

function addressOfTickets(job: MainJob): string | undefined {
  return /^tickets .*ready at (\S+),/m.exec(job.output())?.[1];
}

/** The ticket service's books say: it was never called. */
export async function expectNoTicket(job: MainJob): Promise<void> {
  const { calls, effects } = await ticketClient(addressOfTickets(job) ?? "").books();
  expect({ calls, effects }).toEqual({ calls: 0, effects: 0 });
}

/** The ticket service's books say: one ticket, under the key that was printed. */
export async function expectOneTicket(job: MainJob): Promise<void> {
  const url = addressOfTickets(job);
  const key = /^ +operation +(\S+)$/m.exec(job.output())?.[1];
  if (url === undefined || key === undefined) throw new Error(`no ticket: ${job.output()}`);
  const { effects, byKey } = await ticketClient(url).books();
  expect({ effects, ofKey: byKey[key]?.effects }).toEqual({ effects: 1, ofKey: 1 });
}
