import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { formatAge, formatLength, formatLocal, formatTime } from "@pawl/server/cli/format/time.js";
import { describe, expect, it } from "vitest";

const nowMs = Date.UTC(2026, 2, 1, 12);
const clockAt = (minutes: number) => ({ nowMs: () => nowMs, offsetMinutes: () => minutes });

describe("a length of time", () => {
  it.each([
    [0, "0ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [59_999, "59s"],
    [60_000, "1m"],
    [185_000, "3m 5s"],
    [3_600_000, "1h"],
    [7_260_000, "2h 1m"],
    [360_000_000, "4d 4h"],
    [-5, "0ms"],
  ])("of %i ms is %s", (lengthMs, text) => {
    expect(formatLength(lengthMs)).toBe(text);
  });
});

describe("a point in time", () => {
  it.each([
    [0, "2026-03-01T12:00:00+00:00"],
    [60, "2026-03-01T13:00:00+01:00"],
    [-210, "2026-03-01T08:30:00-03:30"],
    [840, "2026-03-02T02:00:00+14:00"],
  ])("is local, %i minutes ahead of UTC: %s", (offsetMinutes, text) => {
    expect(formatLocal(nowMs, clockAt(offsetMinutes))).toBe(text);
  });

  it("has an age", () => {
    const clock = clockAt(0);
    expect(formatAge(nowMs - 125_000, clock)).toBe("2m 5s ago");
    expect(formatAge(nowMs + 12_000, clock)).toBe("in 12s");
    expect(formatAge(nowMs - 400, clock)).toBe("now");
  });

  it("is a dash when there is none", () => {
    expect(formatTime(undefined, clockAt(0))).toBe("-");
    expect(formatTime(timestampFromMs(nowMs - 5_000), clockAt(60))).toBe(
      "2026-03-01T12:59:55+01:00 (5s ago)",
    );
  });
});
