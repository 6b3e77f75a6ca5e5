import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { run } from "../set-up/running.js";

const built = fileURLToPath(new URL("../../examples/dist/one-agent.js", import.meta.url));
const source = fileURLToPath(new URL("../../examples/one-agent.ts", import.meta.url));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-one-agent-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What a kill may leave to be told about: a lease that nobody renews, and a call of which nobody knows how it ended. */
const warnings =
  /^(\{"level":"warn",.*"message":"(A worker did not renew its lease|Nobody knows how a call of a sink ended)"\}\n)*$/;

async function runAgent(errors: string | RegExp = /^$/): Promise<string> {
  const agent = run(process.execPath, [built], { cwd: folder });
  const { code } = await agent.exit;
  expect({ code, errors: agent.errors() }).toEqual({
    code: 0,
    errors: expect.stringMatching(errors),
  });
  return agent.output();
}

it("is short", () => {
  expect(readFileSync(source, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});

it("does its work once, however often it is run", async () => {
  const first = await runAgent();
  expect(first).toMatch(/^note-1: \{"file":"\.pawl-notes\/[0-9a-f-]{36}\.txt"\}\n$/);
  expect(await runAgent()).toBe(first);
  expect(readdirSync(join(folder, ".pawl-notes"))).toHaveLength(1);
});

it("thinks once, though it is killed on its way", async () => {
  for (let kills = 0; kills < 4; kills++) {
    const agent = run(process.execPath, [built], { cwd: folder });
    const timer = setTimeout(() => agent.kill("SIGKILL"), Math.floor(Math.random() * 800));
    await agent.exit;
    clearTimeout(timer);
  }
  await runAgent(warnings);
  const notes = readdirSync(join(folder, ".pawl-notes"));
  expect(notes).toHaveLength(1);
  const text = readFileSync(join(folder, ".pawl-notes", notes[0] ?? ""), "utf8");
  expect(text).toMatch(/^ratchets: 0\.\d+/);
});
