import { durationMs, showDuration } from "@pawl/server/core/duration.js";
import { describe, expect, it } from "vitest";

describe("a length of time in ms", () => {
  it.each([
    [0n, 0, 0],
    [1n, 0, 1_000],
    [1n, 1, 1_001],
    [1n, 999_999_999, 2_000],
    [0n, -1, -1],
    [-1n, -500_000_000, -1_500],
  ])("of %i s and %i ns is %i, away from zero", (seconds, nanos, ms) => {
    expect(durationMs({ seconds, nanos })).toBe(ms);
    expect(showDuration({ seconds, nanos })).toBe(`${ms} ms`);
  });

  it.each([
    [1n, -1],
    [-1n, 1],
    [0n, 1_000_000_000],
    [0n, -1_000_000_000],
    [0n, Number.NaN],
  ])("of %i s and %i ns is none, and is shown as it came", (seconds, nanos) => {
    expect(durationMs({ seconds, nanos })).toBeNaN();
    expect(showDuration({ seconds, nanos })).toBe(`${seconds} s and ${nanos} ns`);
  });
});
