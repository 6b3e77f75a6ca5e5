import { limits } from "@pawl/server/core/limits.js";
import { describe, expect, it } from "vitest";
import { readTable } from "./support/markdown.js";
import { pageAt } from "./support/pages.js";

const page = pageAt("docs/reference/limits.md");

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  bytes: 1,
  KiB: 1024,
  MiB: 1024 * 1024,
  s: 1000,
  day: 86_400_000,
  days: 86_400_000,
  years: 365 * 86_400_000,
};

/** The value of a bound as the page writes it: a whole number, and a unit. */
function readBound(text: string): number {
  const [, digits, unit = ""] = /^(\d+) ?(\w*)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (digits === undefined || factor === undefined) {
    throw new Error(`Expected a bound with a known unit, but it is "${text}".`);
  }
  return Number(digits) * factor;
}

const rows = ["Sizes", "Counts", "Times"].flatMap((heading) => readTable(page, `## ${heading}`));

describe("docs/reference/limits.md", () => {
  it("has every bound of the kernel once, with its value", () => {
    const told = rows.map(([name = "", bound = ""]) => [
      name.replaceAll("`", ""),
      readBound(bound),
    ]);
    expect(told.toSorted()).toEqual(Object.entries(limits).toSorted());
  });

  it("says of each what it is a bound of", () => {
    for (const [, , meaning] of rows) expect(meaning).toMatch(/\w{4}/);
  });

  it("reads its units", () => {
    expect(["64 bytes", "32 KiB", "4 MiB", "5", "5 s", "1 day", "10 years"].map(readBound)).toEqual(
      [64, 32_768, 4_194_304, 5, 5_000, 86_400_000, 315_360_000_000],
    );
    expect(() => readBound("5 minutes")).toThrow("known unit");
  });
});
