import { describe, expect, it } from "vitest";
import { listTextFiles } from "../tidy/source-file.js";
import { readTable } from "./support/markdown.js";
import { hasTitle, readNamedTests } from "./support/named-tests.js";
import { pageAt } from "./support/pages.js";

const guide = "docs/guide/workflows.md";
const messages = "docs/guide/messages.md";
const table = "docs/concepts/failure-semantics.md";

const lineByLine = "## Line by line: ";

/** The examples that are workflows. */
const programs = listTextFiles((path) => /^examples\/workflows\/.*\.ts$/.test(path))
  .filter(({ text }) => text.includes("= workflow("))
  .map(({ path, text }) => ({ name: path.slice("examples/workflows/".length), text }));

/** Without blanks, so that it does not matter where a line ends. */
const dense = (text: string): string => text.replaceAll(/\s/g, "");

describe(guide, () => {
  const named = readNamedTests(guide);

  it("names a test under each rule", () => {
    const rules = [...pageAt(guide).matchAll(/^## (.*)$/gm)].map(([, rule = ""]) => rule);
    const last = rules.pop();
    expect(last).toBe("When it dies at this line");
    expect(rules.length).toBeGreaterThan(12);
    expect(rules.filter((rule) => !named.some(({ heading }) => heading === rule))).toEqual([]);
  });

  it.each(named)("$file has a test '$title'", (test) => {
    expect(hasTitle(test)).toBe(true);
  });
});

describe(messages, () => {
  const named = readNamedTests(messages);

  it("names a test under each heading", () => {
    const headings = [...pageAt(messages).matchAll(/^## (.*)$/gm)].map(
      ([, heading = ""]) => heading,
    );
    expect(headings.length).toBeGreaterThan(2);
    expect(headings.filter((each) => !named.some(({ heading }) => heading === each))).toEqual([]);
  });

  it.each(named)("$file has a test '$title'", (test) => {
    expect(hasTitle(test)).toBe(true);
  });
});

describe(table, () => {
  const named = readNamedTests(table);
  const tables = [...pageAt(table).matchAll(/^## .*$/gm)].map(([heading]) => heading);

  it("goes through each example of a workflow, line by line", () => {
    const through = tables.filter((heading) => heading.startsWith(lineByLine));
    expect(through.map((heading) => heading.slice(lineByLine.length)).sort()).toEqual(
      programs.map(({ name }) => name),
    );
  });

  it.each(programs)("says of each call of $name what happens when it dies there", (program) => {
    const rows = readTable(pageAt(table), `${lineByLine}${program.name}`);
    const places = rows.map(([place = ""]) => place).join("\n");
    const pieces = [...places.matchAll(/`([^`]+)`/g)].map(([, piece = ""]) => piece);
    for (const piece of pieces) {
      for (const part of piece.split(/, …|…/)) expect(dense(program.text)).toContain(dense(part));
    }
    const calls = [...program.text.matchAll(/\bctx\.\w+\(|\bsaid\.perform\(/g)];
    for (const [call] of calls) expect(places).toContain(call);
  });

  it("names a test in each line", () => {
    for (const heading of tables) {
      const rows = readTable(pageAt(table), heading);
      expect(rows.length).toBeGreaterThan(4);
      for (const row of rows) expect(row).toHaveLength(3);
      expect(named.filter((each) => heading.endsWith(each.heading))).toHaveLength(rows.length);
    }
  });

  it.each(named)("$file has a test '$title'", (test) => {
    expect(hasTitle(test)).toBe(true);
  });
});

it("a title that no test has is missed", () => {
  expect(hasTitle({ title: "no test has this", file: "test/functions/kills.test.ts" })).toBe(false);
});
