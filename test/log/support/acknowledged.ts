/** What a child acknowledged before it died, and whether the store still has it. */

import { runKey, segmentKey } from "@pawl/server/log/key.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { readRow } from "@pawl/server/log/row.js";
import { type VerifyReport, verifyLog } from "@pawl/server/log/verify-log.js";
import { expect } from "vitest";

/** Acknowledged segments (first sequences) and rows (run numbers). */
export interface Acknowledged {
  readonly sequences: readonly number[];
  readonly runNumbers: readonly number[];
}

/** Reads the lines of `write-until-killed.ts`; a cut last line counts for nothing. */
export function acknowledgedIn(output: string): Acknowledged {
  const lines = output.split("\n").slice(0, -1);
  const numbersOf = (letter: string): number[] =>
    lines.filter((line) => line.startsWith(`${letter} `)).map((line) => Number(line.slice(2)));
  return { sequences: numbersOf("s"), runNumbers: numbersOf("r") };
}

/** Opens the store, checks it whole, and expects all that was acknowledged. */
export async function expectAcknowledged(directory: string, acked: Acknowledged): Promise<void> {
  const { store, meta, close } = await openDataFolder(directory, { create: false });
  try {
    const problems: VerifyReport[] = [];
    for await (const report of verifyLog(store, { partition: 0, meta })) {
      if (report.kind === "problem") problems.push(report);
    }
    expect(problems).toEqual([]);
    const lostSegments = acked.sequences.filter(
      (sequence) => store.get(segmentKey.encode({ partition: 0, sequence })) === undefined,
    );
    const lostRows = acked.runNumbers.filter((runNumber) => {
      const key = runKey.encode({ partition: 0, runNumber });
      const value = store.get(key);
      return value === undefined || readRow(key, value).payload.byteLength !== 40_000;
    });
    expect({ lostSegments, lostRows }).toEqual({ lostSegments: [], lostRows: [] });
  } finally {
    await close();
  }
}
