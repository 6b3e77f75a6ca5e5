import type { KeepTimesShape, LegalHoldShape } from "@pawl/proto/log/v1/event_wire.js";
import type { Caller } from "../core/caller.js";
import { staleVersion } from "../core/rejection.js";
import type { DurableAnswers } from "./durable-answers.js";
import type { KernelParts } from "./kernel-parts.js";
import { RejectionError } from "./outcome.js";
import type { RetentionEntry } from "./retentions.js";

/** How what a namespace keeps is to be changed; what is absent stays. */
export interface RetentionChange {
  readonly namespace: string;
  readonly keep?: KeepTimesShape;
  /** True: it is held from now on; false: no more. */
  readonly held?: boolean;
  /** Why, with `held`. */
  readonly reason?: string;
  /** The version that it must have; undefined: any. */
  readonly expectedVersion: number | undefined;
}

/** What a change came to. */
export interface RetentionChanged {
  readonly existing: boolean;
  readonly entry: RetentionEntry;
  readonly position: Uint8Array;
}

/** See `KernelApi.changeRetention`. */
export async function changeRetention(
  parts: Pick<KernelParts, "loop" | "retentions" | "storeRun">,
  answers: DurableAnswers,
  change: RetentionChange,
  { principal }: Caller,
): Promise<RetentionChanged> {
  answers.requireWorking();
  const { loop, retentions, storeRun } = parts;
  const before = retentions.get(change.namespace);
  if (loop.held !== undefined) {
    throw new RejectionError(loop.held);
  }
  const { namespace, version } = before;
  const keep = change.keep ?? before.keep;
  const existing =
    isSame(keep, before.keep) &&
    (change.held === undefined || change.held === (before.hold !== undefined));
  const { expectedVersion = version } = change;
  const isResent = existing && version === expectedVersion + 1;
  if (expectedVersion !== version && !isResent) {
    throw new RejectionError(
      staleVersion(`retention of namespace "${namespace}"`, expectedVersion, version),
    );
  }
  if (existing) {
    return { existing, entry: before, position: await answers.positionWhenDurable() };
  }
  const hold = holdAfter(before.hold, change, { atMs: loop.clock.now(), principal });
  const value = { namespace, keep, hold, version: version + 1, principal };
  const changedAtMs = loop.appendEvents(storeRun, [{ case: "retentionChanged", value }]);
  const entry = { ...value, changedAtMs };
  retentions.put(entry);
  return { existing, entry, position: await answers.positionWhenDurable() };
}

function holdAfter(
  before: LegalHoldShape | undefined,
  { held, reason = "" }: RetentionChange,
  by: { readonly atMs: number; readonly principal: string },
): LegalHoldShape | undefined {
  if (held === undefined) {
    return before;
  }
  return held ? (before ?? { ...by, reason }) : undefined;
}

const names = [
  "completedMs",
  "failedMs",
  "cancelledMs",
  "terminatedMs",
  "approvalsMs",
  "operationsMs",
  "tombstonesMs",
] as const satisfies readonly (keyof KeepTimesShape)[];

function isSame(a: KeepTimesShape, b: KeepTimesShape): boolean {
  return names.every((name) => a[name] === b[name]);
}
