import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const hooks = new URL("../log/support/child-hooks.mjs", import.meta.url).href;
const program = fileURLToPath(new URL("support/short-life.ts", import.meta.url));

test("a program that closed its kernel ends by itself, without a warning", async () => {
  const dir = await mkdtemp(join(tmpdir(), "pawl-life-"));
  try {
    const flags = ["--conditions=pawl-source", "--import", hooks, program, join(dir, "store")];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, flags, {
      timeout: 30_000,
    });
    expect(stdout).toBe("42 8\n");
    expect(stderr).toBe("");
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
