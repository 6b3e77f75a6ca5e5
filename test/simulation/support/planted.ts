import type { Planted } from "./room.js";
import { drawSettings, type Settings } from "./settings.js";
import { simulate } from "./simulation.js";

/** Where a planted fault is looked for. */
export interface Search {
  readonly planted?: Planted;
  /** Default: as everywhere. */
  readonly draw?: (seed: number) => Settings;
  /** The first seed; default 1. */
  readonly from?: number;
}

/** Seeds in which a planted fault must show at the latest. */
const seedsMax = 50;

/** The first violation that a planted fault leads to; undefined when no seed shows it. */
export async function findPlanted({
  planted = {},
  draw = drawSettings,
  from = 1,
}: Search): Promise<string | undefined> {
  for (let seed = from; seed < from + seedsMax; seed++) {
    const { violations } = await simulate({ seed, settings: draw(seed), planted });
    if (violations[0] !== undefined) {
      return violations[0];
    }
  }
  return undefined;
}
