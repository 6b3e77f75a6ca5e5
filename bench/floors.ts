/** What each figure must reach on two shared cores; `--check` fails below it. Rates are minima, times and sizes maxima. */
export interface Floor {
  readonly perSecMin?: number;
  readonly p50MsMax?: number;
  readonly secondsMax?: number;
  readonly firstServedSecondsMax?: number;
  readonly timersKnownSecondsMax?: number;
  readonly idleRssMbMax?: number;
  readonly rssMbMax?: number;
  readonly lastToFirstRatioMax?: number;
  readonly coldResumeMsMax?: number;
  readonly warmMsAt10000Max?: number;
  readonly coldMsAt10000Max?: number;
  readonly allFinishedSecondsMax?: number;
}

/** Floors by bench and load. */
export const floors: Readonly<Record<string, Floor>> = {
  "queue saturated": { perSecMin: 12_000 },
  "queue single": { p50MsMax: 2 },
  "chain saturated": { perSecMin: 7_000 },
  "chain single": { p50MsMax: 3.5 },
  "fan single": { secondsMax: 0.1 },
  "steps saturated": { perSecMin: 6_000 },
  "steps single": { p50MsMax: 2.5 },
  "mapfan single": { secondsMax: 0.2 },
  "history single": { secondsMax: 5, lastToFirstRatioMax: 1.1, coldResumeMsMax: 150 },
  "wake single": { warmMsAt10000Max: 5, coldMsAt10000Max: 150 },
  "parked restart": { firstServedSecondsMax: 1, allFinishedSecondsMax: 5 },
  "testkit single": { p50MsMax: 100 },
  "open restart": {
    firstServedSecondsMax: 1,
    timersKnownSecondsMax: 1,
    idleRssMbMax: 120,
    rssMbMax: 300,
  },
};

/** One figure line: what was measured, under which name. */
export type Figures = Readonly<Record<string, number | string | boolean>>;

/** The parts of a floor that the figures miss, as sentences; empty when all hold. */
export function missedFloors(figures: Figures): string[] {
  const floor = floors[`${figures["bench"]} ${figures["load"]}`] ?? {};
  const missed: string[] = [];
  for (const [name, bound] of Object.entries(floor)) {
    const isMinimum = name.endsWith("Min");
    const field = name.slice(0, -3);
    const value = figures[field];
    const holds = typeof value === "number" && (isMinimum ? value >= bound : value <= bound);
    if (!holds) {
      const relation = isMinimum ? "at least" : "at most";
      missed.push(`Expected ${field} to be ${relation} ${bound}, but it is ${value ?? "missing"}.`);
    }
  }
  return missed;
}
