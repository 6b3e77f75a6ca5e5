import { describe, expect, it } from "vitest";
import { readTable } from "./support/markdown.js";
import { hasTitle, readNamedTests } from "./support/named-tests.js";
import { pageAt } from "./support/pages.js";

const guide = "docs/guide/workflows.md";
const table = "docs/concepts/failure-semantics.md";

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

describe(table, () => {
  const named = readNamedTests(table);

  it("names a test in each line", () => {
    for (const heading of ["## A workflow function", "## What it rests on"]) {
      const rows = readTable(pageAt(table), heading);
      expect(rows.length).toBeGreaterThan(8);
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
