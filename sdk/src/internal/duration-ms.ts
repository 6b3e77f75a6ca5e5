import type { Duration as ProtoDuration } from "@bufbuild/protobuf/wkt";
import { DefinitionInvalid } from "../errors.js";

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Longest duration: 10 years, in ms. */
const DURATION_MS_MAX = 315_360_000_000;

const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * The milliseconds of a duration. The type already refuses most mistakes; this catches what it cannot see
 * (`"-5s"`, `"1e3s"`, `"0.1ms"`) and callers without types.
 *
 * @param field What the duration is for, for the error.
 * @throws DefinitionInvalid when it is ill-formed, no whole number of ms, or longer than 10 years.
 */
export function parseDuration(duration: string, field: string): number {
  const match = PATTERN.exec(duration);
  const unitMs = UNIT_MS[match?.[2] ?? ""];
  if (match === null || unitMs === undefined) {
    throw invalid(field, duration, 'a number and one of ms, s, m, h, d, such as "30s"');
  }
  // Rounded before it is judged: 0.3 s is 300 ms although 0.3 * 1000 is not exactly 300 for every such product.
  const exactMs = Number(match[1]) * unitMs;
  const ms = Math.round(exactMs);
  if (Math.abs(exactMs - ms) > 1e-6) {
    throw invalid(field, duration, "a whole number of milliseconds");
  }
  if (ms > DURATION_MS_MAX) {
    throw invalid(field, duration, "at most 10 years (3650d)");
  }
  return ms;
}

function invalid(field: string, duration: string, expected: string): DefinitionInvalid {
  const shown = String(duration).slice(0, 40);
  return new DefinitionInvalid(
    `Expected ${field} to be ${expected}, but it is "${shown}". Write it anew.`,
  );
}

/** A duration as protobuf has it. */
export function toProtoDuration(ms: number): Pick<ProtoDuration, "seconds" | "nanos"> {
  return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
}
