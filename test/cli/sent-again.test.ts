import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "./support/run-cli.js";
import { type ScriptedKernel, startScriptedKernel } from "./support/scripted-kernel.js";

let kernel: ScriptedKernel;
let folder = "";
let asked: readonly string[] = [];

/** Takes what it is asked, and gives no answer. */
function silent(...ids: readonly string[]): never {
  asked = ids;
  throw new ConnectError("the answer is lost", Code.DeadlineExceeded);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-cli-"));
  await writeFile(
    join(folder, "plan.json"),
    '{"tasks":[{"name":"main","kind":"K"}],"output":"main"}',
  );
  kernel = await startScriptedKernel({
    runs: {
      updateRun: ({ updateId }) => silent("--update-id", updateId),
      sendSignal: ({ requestId }) => silent("--request-id", requestId),
      startRuns: ({ runs: [run] }) =>
        silent("--id", run?.runId ?? "", "--request-id", run?.requestId ?? ""),
    },
  });
});

afterAll(async () => {
  await kernel.close();
  await rm(folder, { recursive: true });
});

async function nextAfter(...args: readonly string[]): Promise<string> {
  const end = await runCli([...args, "--url", kernel.url], { cwd: folder });
  expect([end.code, end.out]).toEqual([69, ""]);
  return end.errors.slice(end.errors.indexOf("Next:"));
}

describe("when no answer comes to a command that made an identity by itself", () => {
  it.each([
    [
      ["run", "update", "r", "move"],
      ["--update-id", "u"],
    ],
    [
      ["signal", "r", "paid"],
      ["--request-id", "s"],
    ],
    [
      ["run", "start", "w", "--plan", "plan.json"],
      ["--id", "r", "--request-id", "s"],
    ],
  ])("%j is told how to ask for the same, and no second time", async (args, given) => {
    const next = await nextAfter(...args);
    expect(asked.at(-1)).toMatch(/^[0-9a-f-]{36}$/);
    expect(next).toContain(
      `Give the same command again, and add ${asked.join(" ")}: what has happened is answered as existing.`,
    );
    const other = await nextAfter(...args, ...given);
    expect(asked).toEqual(given);
    expect(other).toContain("Give the same command again: what has happened");
  });
});
