import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { REPOSITORY } from "../tidy/source-file.js";
import { readProse } from "./support/markdown.js";
import { pageAt } from "./support/pages.js";

const path = "docs/concepts/promises.md";

interface NamedTest {
  readonly promise: string;
  readonly title: string;
  readonly file: string;
}

/** The tests that the page names, each with its promise. */
function readNamedTests(page: string): NamedTest[] {
  let promise = "";
  return readProse(page).flatMap(({ text }) => {
    promise = /^## (\d+\. .*)$/.exec(text)?.[1] ?? promise;
    const [, title, target] = /^- "(.+)" \(\[[^\]]+\]\(([^)]+)\)\)$/.exec(text) ?? [];
    if (title === undefined || target === undefined) return [];
    return [{ promise, title, file: posix.join(posix.dirname(path), target) }];
  });
}

/** True when a file has a test, or a group, of this title. */
function hasTitle({ title, file }: NamedTest): boolean {
  const source = readFileSync(join(REPOSITORY, file), "utf8");
  const calls = source.matchAll(
    /(?:[,(]|^)\s*("(?:\\.|[^"\\])*")\s*,\s*(?:async )?(?:\(|function)/gm,
  );
  return [...calls].some(([, literal = ""]) => literal === JSON.stringify(title));
}

const named = readNamedTests(pageAt(path));

describe("docs/concepts/promises.md", () => {
  it("names tests for each promise", () => {
    const promises = [...pageAt(path).matchAll(/^## (\d+\. .*)$/gm)].map(([, promise]) => promise);
    expect(promises.length).toBeGreaterThanOrEqual(7);
    for (const promise of promises) {
      const tests = named.filter((each) => each.promise === promise);
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
    expect(hasTitle({ promise: "", title: "a title that no test has", file })).toBe(false);
  });
});
