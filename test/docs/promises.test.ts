import { describe, expect, it } from "vitest";
import { hasTitle, readNamedTests } from "./support/named-tests.js";
import { pageAt } from "./support/pages.js";

const path = "docs/concepts/promises.md";

const named = readNamedTests(path);

describe("docs/concepts/promises.md", () => {
  it("names tests for each promise", () => {
    const promises = [...pageAt(path).matchAll(/^## (\d+\. .*)$/gm)].map(([, promise]) => promise);
    expect(promises.length).toBeGreaterThanOrEqual(7);
    for (const promise of promises) {
      const tests = named.filter((each) => each.heading === promise);
      expect([promise, tests.length >= 3]).toEqual([promise, true]);
    }
  });

  it("says of each promise what is not claimed", () => {
    const sections = pageAt(path)
      .split(/^## \d+\. /m)
      .slice(1);
    expect(sections.filter((section) => !section.includes("**Not claimed.**"))).toEqual([]);
  });

  it.each(named)("$file has a test '$title'", (test) => {
    expect(hasTitle(test)).toBe(true);
  });

  it("would miss a title that is gone", () => {
    const file = "test/core/joins.test.ts";
    expect(hasTitle({ title: "a title that no test has", file })).toBe(false);
  });
});
