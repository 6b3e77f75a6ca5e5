const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, "days"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** A length of time for people, rounded up in its greatest fitting unit: `850 ms`, `12 s`, `3 min`, `2 h`, `4 days`. */
export function formatLength(ms: number): string {
  for (const [size, name] of units) {
    if (ms >= size * (name === "s" ? 1 : 2)) {
      return `${Math.ceil(ms / size)} ${name}`;
    }
  }
  return `${Math.max(0, Math.ceil(ms))} ms`;
}

/** A count with its noun: `1 task`, `3 tasks`. */
export function formatCount(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
