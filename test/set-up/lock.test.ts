import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isAlive, type Running, run, waitUntil } from "./running.js";

const HOLD_LOCK = fileURLToPath(new URL("hold-lock.mjs", import.meta.url));
const RACE_LOCK = fileURLToPath(new URL("race-lock.mjs", import.meta.url));

let folder: string;
let directory: string;
let notes: string;
let started: Running[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-lock-"));
  directory = join(folder, "lock");
  notes = join(folder, "notes");
  mkdirSync(directory);
  writeFileSync(notes, "");
  started = [];
});

afterEach(async () => {
  for (const { pid, kill, exit } of started) {
    if (isAlive(pid)) kill("SIGKILL");
    await exit;
  }
  rmSync(folder, { recursive: true });
});

function holdLock(holdMs: number, ...more: readonly string[]): Running {
  const args = [HOLD_LOCK, directory, notes, String(holdMs), ...more];
  const running = run(process.execPath, args, { cwd: folder });
  started.push(running);
  return running;
}

it("is held by one of many at a time", async () => {
  const contenders = Array.from({ length: 6 }, () => holdLock(30));
  for (const { exit } of contenders) expect((await exit).code).toBe(0);

  const lines = readFileSync(notes, "utf8").trim().split("\n");
  expect(lines).toHaveLength(12);
  for (let index = 0; index < lines.length; index += 2) {
    const pid = lines[index]?.slice(1);
    expect([lines[index], lines[index + 1]]).toEqual([`+${pid}`, `-${pid}`]);
  }
});

it("withdraws when another claim came between the look and its own", async () => {
  const racer = run(process.execPath, [RACE_LOCK, directory], { cwd: folder });
  started.push(racer);
  await racer.said(`waiting: the rival (process ${process.pid}) is setting up`);
  expect(racer.output()).toBe("");
  const [rival = "", ...others] = listClaimsIn(directory);
  expect(others).toEqual([]);
  rmSync(join(directory, rival));
  await racer.event("held");
  expect((await racer.exit).code).toBe(0);
});

it("makes the second wait, and say for whom", async () => {
  const first = holdLock(0);
  await first.event("held");
  const second = holdLock(1);
  await second.said(`waiting: a test (process ${first.pid}) is setting up`);
  first.kill("SIGKILL");
  expect((await second.exit).code).toBe(0);
});

it("lets go of one who waits at once when it is asked to stop", async () => {
  const first = holdLock(0);
  await first.event("held");
  const second = holdLock(1);
  await second.said("waiting");
  second.kill("SIGTERM");
  await second.exit;
  expect(second.errors()).toContain("PAWL_SET_UP_STOPPED");
});

it("is held on by a child whose parent was killed, until the child ends", async () => {
  const first = holdLock(0, "600000");
  const { pid } = await first.event("child");
  await first.event("held");
  first.kill("SIGKILL");
  await first.exit;
  const second = holdLock(1);
  await second.said(`(process ${pid}) is setting up`);
  process.kill(Number(pid), "SIGKILL");
  expect((await second.exit).code).toBe(0);
});

it("is not held by a claim whose process id now belongs to another process", async () => {
  const first = holdLock(0);
  await first.event("held");
  const [claim = ""] = listClaimsIn(directory);
  const [, start = "", ...rest] = claim.split(".");
  first.kill("SIGKILL");
  await first.exit;
  rmSync(join(directory, claim));
  // As if the id of a process that died had been given to this one, which began at another time.
  writeFileSync(join(directory, [process.pid, start, ...rest].join(".")), "an old one\n");

  const second = holdLock(1);
  expect((await second.exit).code).toBe(0);
  expect(second.errors()).toBe("");
});

it("believes a claim from another container as long as it is kept fresh", async () => {
  const claim = join(directory, `${process.pid}.1.anothercontainer.0123456789ab`);
  writeFileSync(claim, "npm start\n");
  const waiting = holdLock(1);
  await waiting.said(`waiting: npm start (process ${process.pid}) is setting up`);
  const anHourAgo = new Date(Date.now() - 3_600_000);
  utimesSync(claim, anHourAgo, anHourAgo);
  expect((await waiting.exit).code).toBe(0);
});

it("leaves no claim behind, and minds no file that is none", async () => {
  writeFileSync(join(directory, "README"), "what is this?\n");
  expect((await holdLock(1).exit).code).toBe(0);
  await waitUntil(() => listClaimsIn(directory).length === 0, "no claim to be left");
});

function listClaimsIn(path: string): string[] {
  return readdirSync(path).filter((name) => name !== "README");
}
