import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Running, run, waitUntil } from "../set-up/running.js";

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

/** What stands in its notes. */
function readNotes(): string[] {
  const notes = join(folder, ".pawl-notes");
  return existsSync(notes) ? readdirSync(notes).map((name) => read(join(notes, name))) : [];
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}

/** Makes a process kill itself as soon as it has written its note. */
const killAtNote = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { writeFile } = fs.promises;
  fs.promises.writeFile = async (file, text) => {
    await writeFile(file, text);
    if (String(file).startsWith(".pawl-notes/")) process.kill(process.pid, "SIGKILL");
  };
  syncBuiltinESMExports();
`;

/** Starts the agent; it is to be killed, or kills itself. */
function startAgent(...hooks: readonly string[]): Running {
  const imports = hooks.map((hook) => `--import=data:text/javascript,${encodeURIComponent(hook)}`);
  return run(process.execPath, [...imports, built], { cwd: folder });
}

it("thinks once, though it is killed before it did anything, and when its store is there", async () => {
  for (const isSo of [() => true, () => existsSync(join(folder, ".pawl-one-agent"))]) {
    const agent = startAgent();
    await waitUntil(isSo, "the store", agent.errors);
    agent.kill("SIGKILL");
    await agent.exit;
  }
  await runAgent(warnings);
  expect(readNotes()).toEqual([expect.stringMatching(/^ratchets: 0\.\d+$/)]);
});

it("thinks once, and writes one note, though it is killed when it has written it", async () => {
  expect((await startAgent(killAtNote).exit).signal).toBe("SIGKILL");
  const noted = readNotes();
  expect(noted).toEqual([expect.stringMatching(/^ratchets: 0\.\d+$/)]);
  await runAgent(warnings);
  expect(readNotes()).toEqual(noted);
});
