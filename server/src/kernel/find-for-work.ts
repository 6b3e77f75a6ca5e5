import { StoreDamaged } from "../log/store-errors.js";
import type { FaultLog } from "./fault-log.js";
import type { Found, Residency } from "./residency.js";

/** What finding a run needs of the loop. */
export interface Finding {
  readonly residency: Residency;
  readonly faults: FaultLog;
  fail(error: unknown): void;
}

/**
 * Finds a run for the kernel's own work, of which no caller hears: one that is damaged is left alone, as if it were absent, and the others
 * are served; a store that fails ends the kernel. Never throws, and its promise never rejects.
 */
export function findForWork(loop: Finding, runNumber: number): Found {
  const giveUp = (error: unknown): undefined => {
    if (error instanceof StoreDamaged) {
      loop.faults.record(runNumber, "read", error);
    } else {
      loop.fail(error);
    }
  };
  try {
    const found = loop.residency.find(runNumber);
    return found instanceof Promise ? found.catch(giveUp) : found;
  } catch (error) {
    return giveUp(error);
  }
}
