import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);

/** Codes in the sources of the SDK. */
function codesInSources(): Set<string> {
  const codes = new Set<string>();
  for (const folder of [
    "sdk/src/",
    "sdk/src/internal/",
    "sdk/src/internal/functions/",
    "sdk/src/testing/",
  ]) {
    for (const name of readdirSync(new URL(folder, root)).filter((entry) =>
      entry.endsWith(".ts"),
    )) {
      const text = readFileSync(new URL(folder + name, root), "utf8");
      for (const [, code = ""] of text.matchAll(/"(PAWL_[A-Z_]+)"/g)) codes.add(code);
    }
  }
  return codes;
}

test("every code of the SDK is explained once: by the kernel's page, or in the SDK's reference", () => {
  const kernel = new Set(
    readdirSync(new URL("docs/errors/", root)).map((name) => name.replace(".md", "")),
  );
  const own = [...codesInSources()].filter((code) => !kernel.has(code)).sort();
  const page = readFileSync(new URL("docs/reference/sdk-errors.md", root), "utf8");
  const headings = [...page.matchAll(/^### (PAWL_[A-Z_]+)$/gm)].map(([, code]) => code);
  expect(own.length).toBeGreaterThan(20);
  expect([...headings].sort()).toEqual(own);
});
