import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const bin = fileURLToPath(new URL("../../server/bin/pawl.js", import.meta.url));
const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** Fivefold what the slowest command here takes on a busy machine; one that does not end is killed. */
const END_MS = 60_000;

/** A folder as a user has it: modules of their own, and the SDK beside them. */
let folder = "";

const WORKFLOW = `
import { workflow } from "@pawl/sdk";
export const short = workflow("short", { version: 1 }).run(async (ctx) => ctx.step("one", () => 1));
`;

const files: Readonly<Record<string, string>> = {
  "held.js": `${WORKFLOW}\nsetInterval(() => {}, 1000);\n`,
  "throws.js": "const settings = undefined;\nexport const port = settings.port;\n",
  "parses.js": 'export const settings = JSON.parse("{");\n',
  "lacks.js": 'import "no-such-package";\n',
  "misuses.js":
    'import { workflow } from "@pawl/sdk";\nexport const bad = workflow("", { version: 1 });\n',
  "typed.js": "export const count: number = 1;\n",
  "typed.unknown": "export const count = 1;\n",
  "meanwhile.js": `
import { workflow } from "@pawl/sdk";
export const waits = workflow("waits", { version: 1 }).run(async (ctx) => {
  await ctx.waitSignal("go");
});
export const crashDemo = {
  waits: { meanwhile: async () => undefined.signal() },
};
`,
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-user-"));
  await symlink(packages, join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await mkdir(join(folder, "folder.js"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface End {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

function pawl(...args: string[]): Promise<End> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [bin, ...args],
      { cwd: folder, timeout: END_MS, killSignal: "SIGKILL" },
      (_, out, errors) => resolve({ code: child.exitCode, out, errors }),
    );
  });
}

describe("a command that runs a file of the user", () => {
  it("ends although the file holds the process, with all that it printed", async () => {
    const { code, out, errors } = await pawl("demo", "crash", "held.js");
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(out).toMatch(/every run ended as it does undisturbed\.\n$/);
  });

  it.each([
    ["throws.js", "TypeError: Cannot read properties of undefined (reading 'port')", "throws.js:2"],
    ["parses.js", "SyntaxError: ", "parses.js:1"],
    ["lacks.js", "Cannot find package 'no-such-package'", "lacks.js"],
    ["meanwhile.js", "TypeError: Cannot read properties", "meanwhile.js:7"],
  ])("tells what the code of %s threw, and where", async (file, thrown, place) => {
    const { code, out, errors } = await pawl("demo", "crash", file);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(errors).toMatch(/^pawl: Expected the code of \S+ to run, but it threw: /);
    expect(errors).toContain(thrown);
    expect(errors).toContain(place);
    expect(errors).toContain("Reason: PAWL_CLI_MODULE_THREW (exit code 1)");
    expect(errors).toContain("Next:\n  Mend it where the text above says");
    expect(errors).not.toMatch(/Report this|TypeScript/);
  });

  it.each([["typed.js"], ["typed.unknown"]])("says that %s is no JavaScript", async (file) => {
    const { code, errors } = await pawl("demo", "crash", file);
    expect(code).toBe(2);
    expect(errors).toContain(`${file} to be JavaScript that can be loaded, but it is not: `);
    expect(errors).toContain("Next:\n  Give the JavaScript that your TypeScript is built to.\n");
  });

  it.each([["absent.js"], ["folder.js"]])("says that %s is no file", async (file) => {
    const { code, errors } = await pawl("demo", "crash", file);
    expect(code).toBe(2);
    expect(errors).toMatch(/^pawl: Expected \S+ to be a file, but /);
    expect(errors).not.toContain("TypeScript");
  });

  it("tells what Pawl refuses of the file as it is", async () => {
    const { code, errors } = await pawl("demo", "crash", "misuses.js");
    expect(code).toBe(1);
    expect(errors).toMatch(/^pawl: Expected .*\nReason: PAWL_(?!CLI)/);
  });
});
