import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = ["README.md", "docs/concepts/failure-windows.md"];

function listSources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return /^(?:dist|node_modules)$/.test(entry.name) ? [] : listSources(path);
    return entry.name.endsWith(".ts") ? [path] : [];
  });
}

function read(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

function blocksOf(page: string, language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...read(page).matchAll(fenced)].map(([, block]) => block ?? "");
}

const examples = listSources(join(root, "examples")).map((path) => readFileSync(path, "utf8"));

describe.each(pages)("%s", (page) => {
  it("shows only code that stands, as shown, in an example that is compiled", () => {
    for (const block of blocksOf(page, "ts")) {
      expect(
        examples.some((source) => source.includes(block)),
        block,
      ).toBe(true);
    }
  });

  it("links only to what is there", () => {
    for (const [, target = ""] of read(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      if (target.includes("://")) continue;
      expect(existsSync(join(root, dirname(page), target)), target).toBe(true);
    }
  });

  it("names only npm scripts that there are", () => {
    const manifest: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
      read("package.json"),
    );
    const named = [...read(page).matchAll(/npm (?:run ([a-z]+)|(start|test))/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, script, plain] of named) {
      expect(Object.keys(manifest.scripts)).toContain(script ?? plain);
    }
  });
});

it("the README shows the whole program of a workflow", () => {
  const program = readFileSync(join(root, "examples/workflows/agent.ts"), "utf8");
  expect(blocksOf("README.md", "ts")).toEqual([program]);
});

it("failure-windows.md tells of every window what the demo expects", async () => {
  const { expectations, windows } = await import("../../examples/demo/windows.js");
  const rows = read("docs/concepts/failure-windows.md").split("\n");
  for (const window of windows) {
    const cells = rows.find((row) => row.startsWith(`| \`${window}\``))?.split("|") ?? [];
    const told = cells.slice(3, 6).map((cell) => cell.trim());
    const { idempotent, reconcilable, opaque } = expectations[window];
    const expected = [idempotent, reconcilable, opaque].map(
      ({ outcome, sinkCalls, sinkEffects }) =>
        `\`${outcome}\`: ${sinkCalls} call${sinkCalls === 1 ? "" : "s"}, ` +
        (sinkEffects === 0 ? "no effect" : `${sinkEffects} effect`),
    );
    expect(told, window).toEqual(expected);
  }
});
