import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const hooks = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const program = fileURLToPath(new URL("support/loose-rejections.ts", import.meta.url));

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-loose-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function runProgram(whose: string): Promise<Ended> {
  const flags = ["--conditions=pawl-source", "--import", hooks, program, join(dir, "store"), whose];
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

describe("a promise that is rejected before anybody awaits it", () => {
  test("of a function ends no worker: the function hears of it when it awaits, and the process is warned", async () => {
    const { stdout, stderr } = await runProgram("function");
    expect(stdout).toBe(
      '["the branch failed","Step \\"broken\\" failed for good: the step failed"]\n',
    );
    expect(stderr.match(/PAWL_REJECTION_NOT_AWAITED/g)).toHaveLength(2);
    expect(stderr).toContain('A promise of task "main" of run "r" was rejected');
  }, 90_000);

  test("of the program itself ends it as ever, while a worker runs and after it", async () => {
    const during = await runProgram("program");
    expect(during.code).toBe(1);
    expect(during.stdout).toBe("");
    expect(during.stderr).toContain("Error: of the program");
    const after = await runProgram("function");
    expect(after.code).toBe(1);
    expect(after.stderr).toContain("Error: after the worker");
  }, 90_000);
});
