import { existsSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { waitUntil } from "../set-up/running.js";
import {
  expectGone,
  expectNoTicket,
  expectOneTicket,
  type JobFolder,
  makeJobFolder,
  serveAlone,
  succeed,
} from "./main-job-process.js";

const finished = "Run incident-1 is finished.";

let folder: JobFolder;

beforeEach(() => {
  folder = makeJobFolder();
});

afterEach(() => folder.remove());

/** The last line of how `npm start` tells that the run waits for a person. */
const question = "npm start waits on";

describe("the main job", () => {
  it("asks a person, makes one ticket, stays up, and leaves nothing behind after SIGTERM", async () => {
    const job = folder.start();
    await job.shows(question);
    expect(job.output()).toContain("Run incident-1 waits for a person");
    expect(job.output()).not.toContain(finished);
    await job.decide("approve");
    await job.shows("All stay up");
    expect(job.output()).toContain(finished);
    expect(job.output()).toContain('approved   by "local" (unauthenticated), proposal 1-p0');
    expect(job.output()).toContain("1 call and 1 ticket under this key");
    await expectOneTicket(job);
    job.kill("SIGTERM");
    expect(await job.exit).toEqual({ code: 0, signal: null });
    expect(job.output()).toContain("nothing is left running");
    await expectGone(job);
  });

  it("prints commands that run exactly as printed, from the proposal to the walk back from its effect", async () => {
    const job = folder.start();
    await job.shows(question);
    const [show = "", approve = "", reject = ""] = job.commands();
    const shown = await succeed(show, folder.path);
    expect(shown).toContain("Follow up: Incident 2025-118");
    expect(shown).toContain(approve);
    expect(shown).toContain(reject.split(" --reason")[0]);
    await job.decide("approve");
    await job.shows("All stay up");
    const after = job.commands().slice(3);
    expect(after.map((command) => command.split(" ").slice(3, -1).join(" "))).toEqual([
      "run show",
      "why",
      "op show",
      "approvals list --run",
      "report",
    ]);
    for (const command of after) {
      const told = await succeed(command, folder.path);
      expect(told).toContain("incident-1");
      if (command.includes("op show"))
        expect(told).toMatch(/approved by local \(unauthenticated\)/);
    }
  });

  it("makes no ticket when a person says no, and says so", async () => {
    const job = folder.start();
    await job.decide("reject");
    await job.shows("All stay up");
    expect(job.output()).toContain(finished);
    expect(job.output()).toContain("none; the proposal was rejected: not needed");
    await expectNoTicket(job);
  });
});

describe("stopping the main job", () => {
  it("ends in order at Ctrl-C, which npm and the terminal both send", async () => {
    const job = folder.start();
    await job.shows("research: attempt 1 begins");
    job.killGroup("SIGINT");
    job.kill("SIGINT");
    expect(await job.exit).toEqual({ code: 0, signal: null });
    await expectGone(job);
  });

  it("ends in order when its terminal is closed: SIGHUP to all, and nobody reads", async () => {
    const job = folder.start();
    await job.shows("research: attempt 1 begins");
    job.stopReading();
    job.killGroup("SIGHUP");
    expect(await job.exit).toEqual({ code: 0, signal: null });
    await expectGone(job);
  });

  it("ends at once when somebody insists after more than 500 ms", async () => {
    const job = folder.start();
    const worker = await job.life("worker", 1);
    // A stopped worker cannot drain: the first signal alone would take its whole patience.
    process.kill(worker, "SIGSTOP");
    job.kill("SIGINT");
    await sleep(700);
    job.kill("SIGINT");
    expect(await job.exit).toEqual({ code: 0, signal: null });
    await expectGone(job);
  });
});

describe("a second start", () => {
  it("joins the first, shows the run, and ends", async () => {
    const first = folder.start();
    await first.shows("research: attempt 1 begins");
    const second = folder.start();
    await second.decide("approve");
    expect(await second.exit).toEqual({ code: 0, signal: null });
    expect(second.output()).toContain("this one joins it");
    expect(second.output()).toContain(finished);
    expect(second.lives("worker")).toEqual([]);
    await first.shows("All stay up");
    await expectOneTicket(first);
  });

  it("takes over when the first one is killed", async () => {
    const first = folder.start();
    await first.shows("research: attempt 1 begins");
    const second = folder.start();
    await second.shows("this one joins it");
    first.kill("SIGKILL");
    await second.decide("approve");
    await second.shows("All stay up");
    await expectOneTicket(second);
  });

  it("after the first has ended shows the finished run and the command for a new one", async () => {
    const first = folder.start();
    await first.decide("approve");
    await first.shows("All stay up");
    first.kill("SIGINT");
    await first.exit;
    const second = folder.start();
    await second.shows("npm start -- --new starts another run");
    expect(second.output()).toContain("Run incident-1 was finished already.");
    await expectOneTicket(second);
  });

  it("with --new starts another run", async () => {
    const first = folder.start();
    await first.decide("approve");
    await first.shows("All stay up");
    const second = folder.start("--new");
    await second.decide("approve");
    expect(await second.exit).toEqual({ code: 0, signal: null });
    expect(second.output()).toContain("Run incident-2 is finished.");
    const third = folder.start("--new");
    await third.decide("approve");
    await third.exit;
    expect(third.output()).toContain("Run incident-3 is finished.");
  });
});

describe("a kernel that serves the folder already", () => {
  it("is used while it lives, and one of our own takes over from it", async () => {
    const alone = serveAlone(folder);
    await waitUntil(() => alone.output().includes("listening"), "the kernel", alone.errors);
    const job = folder.start();
    await job.shows(`process ${alone.pid} serves ./.pawl`);
    await job.decide("approve");
    await job.shows("All stay up");
    expect(job.lives("kernel")).toEqual([]);
    alone.kill("SIGKILL");
    await job.life("kernel", 1);
    await expectOneTicket(job);
  });
});

describe("a kernel with tokens", () => {
  const tokenFor = async (name: string, ...roles: string[]): Promise<string> => {
    const flags = roles.map((role) => `--role ${role}`).join(" ");
    const line = `npx --no pawl token create --name ${name} ${flags} 2> told > ${name}.token; cat ${name}.token`;
    return (await succeed(line, folder.path)).trim();
  };

  afterEach(() => vi.unstubAllEnvs());

  it("ends an example that has none with how to give it one, and leaves nothing", async () => {
    await tokenFor("ann", "approver");
    const job = folder.start();
    expect(await job.exit).toEqual({ code: 1, signal: null });
    expect(job.errors()).toContain("PAWL_TOKEN=$(npx --no pawl token create");
    expect(job.errors() + job.output()).not.toContain("    at ");
    await expectGone(job);
  });

  it("is used with the token in PAWL_TOKEN, and shows who approved", async () => {
    await tokenFor("ann", "approver");
    vi.stubEnv("PAWL_TOKEN", await tokenFor("example", "worker", "client"));
    const job = folder.start();
    await job.shows(question);
    const approve = job.commands().find((command) => command.includes("approvals approve"));
    await succeed(`${approve} --token-file ann.token`, folder.path);
    await job.shows("All stay up");
    expect(job.output()).toContain('approved   by "ann", proposal 1-p0');
    await expectOneTicket(job);
  });
});

describe("a port that is taken", () => {
  let server: Server;

  beforeEach(async () => {
    server = createServer((socket) => socket.resume().end("220 somebody else\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  it("is told with who has it and how to take another, and nothing is left", async () => {
    const address = server.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const job = folder.start("--port", `${port}`);
    expect(await job.exit).toEqual({ code: 1, signal: null });
    expect(job.errors()).toContain(`port ${port} of 127.0.0.1 to be free`);
    expect(job.errors()).toMatch(/npm start -- --port \d+/);
    if (process.platform === "linux") expect(job.errors()).toContain(`process ${process.pid}`);
    await expectGone(job);
  });
});

describe("wrong arguments", () => {
  it.each([
    [["--port", "seven"], 'Expected --port to be a number from 0 to 65535, but it is "seven".'],
    [["--port", "70000"], 'Expected --port to be a number from 0 to 65535, but it is "70000".'],
    [["--news"], "--news"],
  ])("%j are refused before anything is started", async (args, message) => {
    const job = folder.start(...args);
    expect(await job.exit).toEqual({ code: 2, signal: null });
    expect(job.errors()).toContain(message);
    expect(existsSync(join(folder.path, ".pawl"))).toBe(false);
  });
});
