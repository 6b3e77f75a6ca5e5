/** The value below which a share of the sorted values lies (nearest rank); NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const index = Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1);
  return sorted[Math.max(0, index)] ?? Number.NaN;
}

/** Rounded to three places, for print. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
