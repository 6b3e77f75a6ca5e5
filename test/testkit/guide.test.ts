import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readFences } from "../docs/support/markdown.js";
import { pageAt } from "../docs/support/pages.js";

const example = readFileSync(new URL("guide-example.test.ts", import.meta.url), "utf8").trim();

test("the guide's example is the one that is run here, line for line", () => {
  const blocks = readFences(pageAt("docs/guide/testing.md")).filter(
    ({ language }) => language === "ts",
  );
  expect(blocks.map(({ text }) => text.trim())).toContain(`// order.test.ts\n${example}`);
});
