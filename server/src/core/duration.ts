/** The parts of a `google.protobuf.Duration`. */
export interface DurationParts {
  readonly seconds: bigint;
  readonly nanos: number;
}

/**
 * A length of time in whole ms, away from zero: nothing comes early, and nothing below zero passes for zero. NaN when it is ill-formed:
 * with two signs, or more nanoseconds than a second has.
 */
export function durationMs({ seconds, nanos }: DurationParts): number {
  const hasTwoSigns = (seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0);
  if (hasTwoSigns || Math.abs(nanos) >= 1e9) {
    return Number.NaN;
  }
  const ms = nanos / 1e6;
  return Number(seconds) * 1000 + (ms < 0 ? Math.floor(ms) : Math.ceil(ms));
}

/** A length of time as an error shows it. */
export function showDuration(parts: DurationParts): string {
  const ms = durationMs(parts);
  return Number.isNaN(ms) ? `${parts.seconds} s and ${parts.nanos} ns` : `${ms} ms`;
}
