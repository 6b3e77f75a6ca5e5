import { ADMIT_ALL, admit } from "@pawl/server/log/watermark.js";
import { describe, expect, test } from "vitest";

const marks = { newRunsBytesMin: 1_000, completionsBytesMin: 100 };
const all = { newRuns: true, completions: true };
const completionsOnly = { newRuns: false, completions: true };
const nothing = { newRuns: false, completions: false };

describe("when the disk runs low", () => {
  test.each([
    [1_000, ADMIT_ALL, all],
    [999, ADMIT_ALL, completionsOnly],
    [100, ADMIT_ALL, completionsOnly],
    [99, ADMIT_ALL, nothing],
    [0, ADMIT_ALL, nothing],
  ])("%i free bytes let in what they should", (freeBytes, before, expected) => {
    expect(admit(freeBytes, before, marks)).toEqual(expected);
  });

  test.each([
    [124, nothing, nothing],
    [125, nothing, completionsOnly],
    [1_249, completionsOnly, completionsOnly],
    [1_250, nothing, all],
  ])("%i free bytes let in again only a quarter above the bound", (freeBytes, before, expected) => {
    expect(admit(freeBytes, before, marks)).toEqual(expected);
  });

  test("new runs never get in without their completions", () => {
    const odd = { newRunsBytesMin: 10, completionsBytesMin: 1_000 };
    expect(admit(500, ADMIT_ALL, odd)).toEqual(all);
  });
});
