import { readdirSync, readFileSync } from "node:fs";
import { wordsOf } from "@pawl/server/core/command-words.js";
import { describe, expect, it } from "vitest";

const folder = new URL("../../server/src/core/decide/", import.meta.url);
const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));

/** The kinds of commands that refusals name. */
const named = new Set(
  sources.flatMap((text) =>
    [...text.matchAll(/(?:runOver\(run, |command: )"([A-Z][a-z]+[A-Z]\w+)"/g)].map(
      ([, kind = ""]) => kind,
    ),
  ),
);

describe("a command that a refusal names", () => {
  it("is named at all", () => {
    expect(named.size).toBeGreaterThan(8);
  });

  it.each([...named])("has words for people: %s", (kind) => {
    expect(wordsOf(kind)).not.toBe(kind);
    expect(wordsOf(kind)).not.toBe("what was asked");
  });

  it("of which nothing is known is what was asked, and a phrase stays", () => {
    expect(wordsOf("FlyAway")).toBe("what was asked");
    expect(wordsOf("report output")).toBe("report output");
  });
});
