import { type Duration, RetryAfter } from "@pawl/sdk";
import { parseDuration, toProtoDuration } from "@pawl/sdk/internal/duration-ms.js";
import { expect, test } from "vitest";

test.each<[Duration, number]>([
  ["0ms", 0],
  ["250ms", 250],
  ["1.5s", 1_500],
  ["0.3s", 300],
  ["2m", 120_000],
  ["48h", 172_800_000],
  ["30d", 2_592_000_000],
  ["3650d", 315_360_000_000],
])("%s is %d ms", (text, ms) => {
  expect(parseDuration(text, "d")).toBe(ms);
});

// Most of these are type errors too; callers without types get a sentence.
test.each([
  "",
  "5",
  "-5s",
  "1e3s",
  "0x10s",
  "2 days",
  " 5s",
  "NaNs",
  "Infinitys",
  "0.1ms",
  "3651d",
  "5w",
  "1.s",
])("%s is refused", (text) => {
  expect(() => parseDuration(text, "the lease")).toThrow(/Expected the lease to be/);
});

test("seconds and nanos are exact beyond 2^31 ms", () => {
  expect(toProtoDuration(2_592_000_250)).toEqual({ seconds: 2_592_000n, nanos: 250_000_000 });
});

test("RetryAfter carries its wait", () => {
  expect(new RetryAfter("90s").retryAfterMs).toBe(90_000);
});
