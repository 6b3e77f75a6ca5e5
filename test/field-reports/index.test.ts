import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const folder = fileURLToPath(new URL(".", import.meta.url));
const index = readFileSync(join(folder, "README.md"), "utf8");

/** The reports that this folder is about. */
const reports = [
  ...["A1", "A2", "A3", "A4", "A7", "A8", "A9", "A10", "A11", "A12", "A13"],
  ...["B1", "B2", "B3", "B5", "B7", "B8", "B9", "B10"],
  ...["C1", "C2", "C5", "C6", "C7", "C9", "D1", "D2", "D4"],
  ...["E1", "E2", "E4", "E5", "E6", "E9", "E10"],
  ...["F1", "F2", "F3", "F4", "G1", "G2", "G3", "G4", "G5", "G8", "H1", "H2", "H3"],
  ...["I1", "I2", "I4", "I6", "I7", "J1", "J2", "J3", "J4", "K1", "L5"],
];

/** One line of the index: a test by file and title. */
interface Entry {
  readonly file: string;
  readonly title: string;
}

const entries: readonly Entry[] = [...index.matchAll(/^- \[([^\]]+)\]\(([^)]+)\): (.+)$/gm)].map(
  ([, , file = "", title = ""]) => ({ file, title }),
);

/** Titles of the tests in a source, as they are written: the first argument of a test, or of what `each` gives. */
function titlesOf(source: string): Set<string> {
  const calls = /(?:\b(?:test|it)|\))\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1\s*,/gs;
  return new Set(
    [...source.matchAll(calls)].map(([, , title = ""]) => title.replace(/\\(.)/g, "$1")),
  );
}

const read = (file: string): string => readFileSync(posix.join(folder, file), "utf8");

describe("the index of field reports", () => {
  test("has every report once, each with a test", () => {
    const sections = index.split(/^## /m).slice(1);
    expect(sections.map((section) => section.slice(0, section.indexOf(":")))).toEqual(reports);
    for (const section of sections) expect(section).toMatch(/^- \[/m);
  });

  test("names only tests that there are", () => {
    expect(entries.length).toBeGreaterThan(reports.length);
    const missing = entries.filter(({ file, title }) => !titlesOf(read(file)).has(title));
    expect(missing).toEqual([]);
  });

  test("names every test of this folder but its own", () => {
    const files = readdirSync(folder).filter((name) => /\.test\.ts$/.test(name));
    expect(files).toContain("busy-worker.test.ts");
    const written = files
      .filter((name) => name !== "index.test.ts")
      .flatMap((file) => [...titlesOf(read(file))].map((title) => ({ file, title })));
    expect(written.length).toBeGreaterThan(30);
    const named = new Set(entries.map(({ file, title }) => `${file}: ${title}`));
    expect(written.filter(({ file, title }) => !named.has(`${file}: ${title}`))).toEqual([]);
  });
});
