import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  childNames,
  expectGone,
  expectOneTicket,
  type JobFolder,
  makeJobFolder,
} from "./main-job-process.js";

const finished = "Run incident-1 is finished.";

/** The last line of how `npm start` tells that the run waits for a person. */
const question = "npm start waits on";

let folder: JobFolder;

beforeEach(() => {
  folder = makeJobFolder();
});

afterEach(() => folder.remove());

describe("the main job, whose processes are killed,", () => {
  it.each(childNames)("goes on where it was when the %s is killed at any moment", async (name) => {
    const job = folder.start();
    const pid = await job.life(name, 1);
    await job.life("worker", 1);
    const approved = job.decide("approve");
    const waitMs = Math.floor(Math.random() * 4_000);
    await sleep(waitMs);
    process.kill(pid, "SIGKILL");
    await job.life(name, 2);
    await approved;
    await job.shows("All stay up");
    expect(job.output(), `killed after ${waitMs} ms`).toContain(finished);
    await expectOneTicket(job);
  });

  it("tells how it ended though the kernel is killed while that is told", async () => {
    const job = folder.start();
    const pid = await job.life("kernel", 1);
    await job.decide("approve");
    await job.shows("the ticket service counts");
    process.kill(pid, "SIGKILL");
    await job.life("kernel", 2);
    await job.shows("All stay up");
    expect(job.output()).toContain("recovery   ");
    await expectOneTicket(job);
  });

  it("goes on when all three are killed while it waits for a person, again and again", async () => {
    const job = folder.start();
    await job.shows(question);
    for (let round = 1; round <= 2; round++) {
      for (const name of childNames) {
        process.kill(await job.life(name, round), "SIGKILL");
        await job.life(name, round + 1);
      }
    }
    expect(job.output()).not.toContain(finished);
    await job.decide("approve");
    await job.shows("All stay up");
    await expectOneTicket(job);
  });

  it("is approved while its worker stands still, and goes on with the next worker", async () => {
    const job = folder.start();
    await job.shows(question);
    const worker = await job.life("worker", 1);
    process.kill(worker, "SIGSTOP");
    await job.decide("approve");
    process.kill(worker, "SIGKILL");
    await job.shows("All stay up");
    await expectOneTicket(job);
  });

  it("whose supervisor is killed leaves nothing running, and the next start goes on", async () => {
    const job = folder.start();
    await job.shows("draft: attempt 1 begins");
    job.kill("SIGKILL");
    await job.exit;
    const next = folder.start();
    await next.decide("approve");
    await next.shows("All stay up");
    await expectGone(job);
    expect(next.output()).toContain("incident-1 goes on where it was");
    await expectOneTicket(next);
  });

  it("that is stopped while it waits for a person asks again at the next start", async () => {
    const job = folder.start();
    await job.shows(question);
    job.kill("SIGINT");
    await job.exit;
    const next = folder.start();
    await next.shows(question);
    expect(next.commands()).toEqual(job.commands());
    await next.decide("approve");
    await next.shows("All stay up");
    await expectOneTicket(next);
  });
});
