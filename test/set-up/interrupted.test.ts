import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive, listClaims, type Running, run, waitUntil } from "./running.js";
import { makeSmallClone, type SmallClone } from "./small-clone.js";

/**
 * Stands in for npm: notes how it was called, starts a child as an install script would, and then
 * does what the first word of PAWL_FAKE_NPM says.
 */
const FAKE_NPM = `
const { spawn } = require("node:child_process");
const { writeFileSync } = require("node:fs");
const wish = process.env.PAWL_FAKE_NPM;
if (wish === "deaf") process.on("SIGTERM", () => {});
const child = wish === "hang" ? spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]) : undefined;
const called = { pid: process.pid, child: child?.pid, args: process.argv.slice(2), env: process.env };
writeFileSync(process.env.PAWL_FAKE_NOTES, JSON.stringify(called));
if (wish === "fail") process.exit(7);
if (wish !== "succeed") setInterval(() => {}, 1000);
`;

interface Call {
  readonly pid: number;
  readonly child?: number;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

let clone: SmallClone;
let outside: string;
let notes: string;
let started: Running[];

beforeEach(() => {
  clone = makeSmallClone();
  outside = mkdtempSync(join(tmpdir(), "pawl-fake-npm-"));
  notes = join(outside, "called.json");
  writeFileSync(join(outside, "npm-cli.js"), FAKE_NPM);
  started = [];
});

afterEach(async () => {
  for (const { pid, kill, exit } of started) {
    if (isAlive(pid)) kill("SIGKILL");
    await exit;
  }
  rmSync(outside, { recursive: true });
  clone.remove();
});

function start(wish: string, env: NodeJS.ProcessEnv = {}): Running {
  const running = run(process.execPath, [join(clone.root, "scripts/start.mjs")], {
    cwd: outside,
    env: {
      npm_execpath: join(outside, "npm-cli.js"),
      PAWL_FAKE_NPM: wish,
      PAWL_FAKE_NOTES: notes,
      ...env,
    },
  });
  started.push(running);
  return running;
}

async function readCall(): Promise<Call> {
  await waitUntil(
    () => existsSync(notes) && readFileSync(notes, "utf8").endsWith("}"),
    "npm to be called",
  );
  return JSON.parse(readFileSync(notes, "utf8"));
}

describe("stopped while npm ci runs", () => {
  const cases = [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const;
  it.each(cases)("%s ends npm and what npm started, and frees the lock", async (signal, code) => {
    const command = start("hang");
    const call = await readCall();
    command.kill(signal);
    expect(await command.exit).toEqual({ code, signal: null });
    expect([call.pid, call.child ?? 0].filter(isAlive)).toEqual([]);
    expect(listClaims(clone.root)).toEqual([]);
    expect(existsSync(join(clone.root, "node_modules/.pawl-set-up.json"))).toBe(false);
  });

  it("a second signal in the same moment is the same wish; a later one insists", async () => {
    const command = start("deaf");
    const { pid } = await readCall();
    const beganMs = performance.now();
    // Whoever insists goes on pressing; only what comes after half a second may count.
    const pressing = setInterval(() => {
      if (isAlive(command.pid)) command.kill("SIGINT");
    }, 20);
    await waitUntil(() => !isAlive(pid), "the end of a deaf npm").finally(() => {
      clearInterval(pressing);
    });
    expect(performance.now() - beganMs).toBeGreaterThan(500);
    expect(await command.exit).toEqual({ code: 130, signal: null });
  });

  it("killed outright: the next command waits for the npm that goes on", async () => {
    const first = start("hang");
    const { pid, child } = await readCall();
    first.kill("SIGKILL");
    await waitUntil(() => !isAlive(first.pid), "the end of the first command");
    const second = start("succeed");
    await second.said(`(process ${pid}) is setting up`);
    process.kill(pid, "SIGKILL");
    if (child !== undefined) process.kill(child, "SIGKILL");
    await second.said("installing packages");
    await second.exit;
  });
});

describe("npm ci", () => {
  it("is called with tools included, whatever the surroundings say", async () => {
    const command = start("fail", {
      NODE_ENV: "production",
      npm_config_omit: "dev",
      npm_config_dry_run: "true",
      npm_config_local_prefix: outside,
      npm_config_registry: "http://127.0.0.1:9/",
    });
    const { args, env } = await readCall();
    await command.exit;
    expect(args).toEqual(["ci", "--include=dev", "--no-audit", "--no-fund"]);
    expect(env["npm_config_omit"]).toBeUndefined();
    expect(env["npm_config_dry_run"]).toBeUndefined();
    expect(env["npm_config_local_prefix"]).toBeUndefined();
    expect(env["npm_config_registry"]).toBe("http://127.0.0.1:9/");
  });

  it("that fails is told in a sentence with what to do, and is tried again next time", async () => {
    const command = start("fail");
    expect((await command.exit).code).toBe(1);
    expect(command.errors()).toContain(
      'npm start: expected "npm ci --include=dev --no-audit --no-fund" to succeed, but it ended with code 7.',
    );
    expect(command.errors()).not.toContain("    at ");
    rmSync(notes);
    await start("fail").exit;
    expect(existsSync(notes)).toBe(true);
  });

  it("uses a cache of our own when the person's cannot be written", async () => {
    const file = join(outside, "a file");
    writeFileSync(file, "");
    const command = start("fail", { npm_config_cache: join(file, "cache") });
    const { env } = await readCall();
    await command.exit;
    expect(env["npm_config_cache"]).toBe(join(clone.root, ".set-up/npm-cache"));
    expect(command.errors()).toContain("cannot be written");
  });

  it("keeps the person's cache when it can be written", async () => {
    const cache = join(outside, "cache");
    mkdirSync(cache);
    const command = start("fail", { npm_config_cache: cache });
    const { env } = await readCall();
    await command.exit;
    expect(env["npm_config_cache"]).toBe(cache);
  });
});

describe("an old Node.js", () => {
  it.each(["start", "test", "demo", "bench", "set-up"])(
    "is refused by %s in one sentence",
    async (name) => {
      const preload = join(outside, "older.cjs");
      const older = '{ value: { ...process.versions, node: "20.19.5" } }';
      writeFileSync(preload, `Object.defineProperty(process, "versions", ${older});\n`);
      const script = join(clone.root, `scripts/${name}.mjs`);
      const command = run(process.execPath, ["--require", preload, script], { cwd: outside });
      started.push(command);
      expect((await command.exit).code).toBe(1);
      expect(command.output()).toBe("");
      expect(command.errors()).toBe(
        "Pawl needs Node.js 20.20 or newer, but this is Node.js 20.19.5. " +
          "Install the newest LTS release of Node.js, then run the command again.\n",
      );
    },
  );
});
