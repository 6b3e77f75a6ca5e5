import { readFileSync } from "node:fs";
import { join } from "node:path";
import { proposalTransitions } from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import { REPOSITORY } from "../tidy/source-file.js";
import { readTable } from "./support/markdown.js";
import { pageAt } from "./support/pages.js";
import { titlesOf } from "./support/test-titles.js";

/** Titles of the tests of a file. */
function titlesIn(file: string): Set<string> {
  return titlesOf(readFileSync(join(REPOSITORY, file), "utf8"));
}

const bare = (cell = ""): string => cell.replaceAll("`", "");

describe("docs/operate/security.md, what is tested", () => {
  const rows = readTable(pageAt("docs/operate/security.md"), "## What is tested");

  it("says much, each line with a test", () => {
    expect(rows.length).toBeGreaterThan(12);
    for (const row of rows) expect(row).toHaveLength(3);
  });

  it.each(rows.map(([what = "", file, title]) => [what, bare(file), title ?? ""] as const))(
    "%s: in %s, '%s'",
    (_what, file, title) => {
      const titles = titlesIn(file);
      expect(titles.size).toBeGreaterThan(0);
      expect([...titles]).toContain(bare(title));
    },
  );
});

describe("docs/concepts/approvals.md, the states", () => {
  const rows = readTable(
    pageAt("docs/concepts/approvals.md"),
    "## The states, and the test of each line",
  );

  it("has a line for every transition of a proposal", () => {
    const count = [...proposalTransitions.values()].reduce((sum, next) => sum + next.length, 0);
    expect(rows).toHaveLength(count);
  });

  it.each(rows.map(([from, to, named = ""]) => [bare(from), bare(to), named] as const))(
    "%s to %s: %s",
    (_from, _to, named) => {
      const [file = "", ...rest] = named.split(": ");
      const titles = titlesIn(`test/core/approvals/${file}.test.ts`);
      expect([...titles]).toContain(rest.join(": "));
    },
  );
});

describe("this look at titles", () => {
  it("misses one that no test has, and a group is none", () => {
    const titles = titlesIn("test/core/approvals/decide.test.ts");
    expect(titles.has("rejects with two noes")).toBe(false);
    expect(titles.has("DecideProposal")).toBe(false);
    expect(titles.has("rejects with one no")).toBe(true);
  });
});
