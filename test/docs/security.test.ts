import { existsSync, readFileSync } from "node:fs";
import { accessTable } from "@pawl/server/access/access-table.js";
import { describe, expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/operate/security.md", root), "utf8");

/** Rows of the table of methods: service, method, and who may. */
const rows = [...page.matchAll(/^\| `([\w.]+)` +\| `(\w+)` +\| (.+?) +\|$/gm)].map(
  ([, service, method, who]) => [`${service}/${method}`, who] as const,
);

function wordsOf({ scope, roles }: (typeof accessTable)[string]): string {
  switch (scope) {
    case "any":
      return "_any_";
    case "open":
      return "_everyone_";
    case "kernel":
      return `${roles.map((role) => `\`${role}\``).join(", ")} in every namespace`;
    case "namespace":
      return roles.map((role) => `\`${role}\``).join(", ");
  }
}

describe("docs/operate/security.md", () => {
  it("has every row of the table of methods, as it is", () => {
    const table = Object.entries(accessTable).map(([name, row]) => [name, wordsOf(row)]);
    expect(rows).toEqual(table);
  });

  it("names tests that are there", () => {
    const named = [...page.matchAll(/`(test\/[\w./-]+\.test\.ts)`/g)].map(
      (match) => match[1] ?? "",
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });
});
