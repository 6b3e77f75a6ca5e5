import type { EventMeta, EventValue } from "../event.js";
import { hasEnded } from "../retention.js";
import type { MutableRun } from "../state.js";
import { CorruptHistory } from "./corrupt.js";

/** It is deleted: nothing of it is served from now on, and nothing more happens to it. */
export function applyRunDeleted(
  run: MutableRun,
  { reason, principal, tombstoneUntilMs }: EventValue<"runDeleted">,
  meta: EventMeta,
): void {
  if (!hasEnded(run) || run.legalHold !== undefined) {
    throw new CorruptHistory(`run "${run.runId}" to have ended before it is deleted`, "it has not");
  }
  run.deletion = { atMs: meta.atMs, tombstoneUntilMs, reason, principal };
  run.version++;
}

/** A legal hold began or ended. */
export function applyLegalHoldChanged(
  run: MutableRun,
  { held, reason, principal }: EventValue<"legalHoldChanged">,
  meta: EventMeta,
): void {
  run.legalHold = held ? { atMs: meta.atMs, reason, principal } : undefined;
  run.version++;
}
