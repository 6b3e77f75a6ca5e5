import { localCaller, localStanding } from "@pawl/server/core/caller.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import { keepForEver } from "@pawl/server/core/retention.js";
import { sha256 } from "./values.js";

/** What `decide` gets in tests: the local caller, run 1, and the lowest of all chances. */
export function contextAt(nowMs: number, parts: Partial<DecideContext> = {}): DecideContext {
  return {
    nowMs,
    ...localCaller,
    runNumber: 1,
    standingOf: localStanding,
    currentVersion: () => 0,
    retentionOf: () => keepForEver,
    random: () => 0,
    sha256,
    ...parts,
  };
}
