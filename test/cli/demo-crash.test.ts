import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readFences } from "../docs/support/markdown.js";
import { pageAt } from "../docs/support/pages.js";

const bin = fileURLToPath(new URL("../../server/bin/pawl.js", import.meta.url));
const folder = fileURLToPath(new URL("support", import.meta.url));

interface End {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Runs the built command, as a user does: the file imports the SDK that is installed beside it. */
function demoCrash(...args: string[]): Promise<End> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [bin, "demo", "crash", ...args],
      { cwd: folder },
      (_, out, errors) => resolve({ code: child.exitCode ?? -1, out, errors }),
    );
  });
}

describe("pawl demo crash", () => {
  it("prints a line for each crash of a careful file, and ends with 0", async () => {
    const { code, out, errors } = await demoCrash("crash-demo-order.js");
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(out).toMatch(
      /^order +after sink "payments.charge" +worker +the effect is done, and nobody knows +completed +1 +yes$/m,
    );
    expect(out).not.toContain("NO");
    expect(out).toMatch(/^\d+ crashes, and every run ended as it does undisturbed\.$/m);
  });

  it("finds an effect outside of every step, and ends with 1", async () => {
    const { code, out } = await demoCrash("crash-demo-careless.js", "--kill", "worker", "--json");
    expect(code).toBe(1);
    const lines: { point: string; effects: number; once: boolean; survived: boolean }[] = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const failed = lines.filter(({ survived }) => !survived);
    expect(failed.map(({ point }) => point)).toContain('before step "note"');
    expect(failed.map(({ effects, once }) => ({ effects, once }))).toEqual(
      failed.map(() => ({ effects: 2, once: false })),
    );
    expect(lines.at(-1)).toMatchObject({ point: "after completion", effects: 1, survived: true });
  });

  it("says what is missing when a file exports no workflow, or is none", async () => {
    const none = await demoCrash("../../support/source-hooks.mjs");
    expect(none.errors).toContain("exports none");
    expect(none.code).toBe(1);
    const absent = await demoCrash("absent.js");
    expect(absent.errors).toContain("absent.js");
    expect(absent.code).toBe(2);
  });
});

it("the guide's file is the one that is tried here, line for line", () => {
  const order = readFileSync(`${folder}/crash-demo-order.js`, "utf8");
  const fences = readFences(pageAt("docs/guide/crash-demo.md"));
  expect(fences.map(({ text }) => text.trim())).toContain(`// order.js\n${order.trim()}`);
});
