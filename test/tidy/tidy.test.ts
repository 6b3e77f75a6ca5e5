import { describe, expect, it } from "vitest";
import { findImportViolations, type Zone, zoneOf } from "./import-rules.js";
import { isCode, listTextFiles, parseSource } from "./source-file.js";
import {
  findDefaultExports,
  findImpurities,
  findLeftovers,
  findTooLong,
  findUndocumented,
  listDocumented,
} from "./text-rules.js";

const code = listTextFiles(isCode).map(parseSource);
const prose = listTextFiles((path) => /\.(?:md|proto|ya?ml|grit)$|^\.ci\//.test(path));

/** Where everything exported is for others to use. */
const PUBLIC = /^(?:server|sdk)\/src\/|^proto\/wire\//;

/** A rule that looked at nothing would pass for ever, so each zone must have been seen. */
const ZONES: readonly Zone[] = [
  "proto",
  "core",
  "log",
  "kernel",
  "rpc",
  "cli",
  "sdk",
  "examples",
  "bench",
  "test",
  "tools",
];

describe("the repository is tidy", () => {
  it.each(ZONES)("has files and imports to look at in %s", (zone) => {
    const files = code.filter(({ path }) => zoneOf(path) === zone);
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap(({ specifiers }) => specifiers).length).toBeGreaterThan(0);
  });

  it("imports one way", () => {
    expect(code.flatMap(findImportViolations)).toEqual([]);
  });

  it("keeps the core pure", () => {
    const core = code.filter(({ path }) => zoneOf(path) === "core");
    expect(core.length).toBeGreaterThan(20);
    expect(core.flatMap(findImpurities)).toEqual([]);
  });

  it("has no file of code over 500 lines", () => {
    expect(code.flatMap(findTooLong)).toEqual([]);
  });

  it("has no default exports", () => {
    expect(code.flatMap(findDefaultExports)).toEqual([]);
  });

  it("has no leftovers", () => {
    expect(prose.length).toBeGreaterThan(10);
    expect([...code, ...prose].flatMap(findLeftovers)).toEqual([]);
  });

  it("explains everything that it exports", () => {
    const shared = code.filter(({ path }) => PUBLIC.test(path));
    expect(shared.flatMap(listDocumented).length).toBeGreaterThan(100);
    expect(shared.flatMap(findUndocumented)).toEqual([]);
  });
});
