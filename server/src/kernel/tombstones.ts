import type { TombstoneRowShape } from "@pawl/proto/log/v1/row_wire.js";
import { emptyLedger } from "../core/apply.js";
import type { Command } from "../core/command.js";
import { deleted } from "../core/decide/deletion-refusals.js";
import { equalBytes } from "../core/identity/content-digest.js";
import { fingerprintConflict, type Rejection } from "../core/rejection.js";
import type { Run } from "../core/state.js";
import { rangeOfKind, sweepKey, tombstoneKey } from "../log/key.js";
import type { Store } from "../log/store.js";
import { type Target, targetNotFound } from "./outcome.js";
import { readTombstone, tombstoneOfLedger, tombstoneOfRun } from "./storage/tombstone-rows.js";

/** What tombstones are read with. */
export interface TombstonesParts {
  readonly store: Pick<Store, "get">;
  readonly partition: number;
  /** True when the store has any, or may have. */
  readonly areAny: boolean;
  /** Kernel time. */
  readonly now: () => number;
}

/** What is left of deleted runs, and of deleted operations of scope NAMESPACE. Asked for what is not there; while none was ever deleted that costs nothing. */
export class Tombstones {
  readonly #parts: TombstonesParts;
  #areAny: boolean;

  constructor(parts: TombstonesParts) {
    this.#parts = parts;
    this.#areAny = parts.areAny;
  }

  /** One is about to be stored. */
  expect(): void {
    this.#areAny = true;
  }

  /** Why something that is not there is refused: it never was, or it was deleted. @throws StoreDamaged */
  absent(target: Target): Rejection {
    return this.refusal(target) ?? targetNotFound(target);
  }

  /** Why something that is not there may not begin: it was deleted; undefined: it may. @throws StoreDamaged */
  refusal(target: Target): Rejection | undefined {
    const left = this.#find(target);
    return left === undefined || !this.#stands(left) ? undefined : refusalOf(target, left);
  }

  /**
   * What a command must be that begins something which is not there: as it is, behind the incarnations that its id has had, or a refusal.
   * @throws StoreDamaged
   */
  admit<C extends Extract<Command, { readonly fingerprint: Uint8Array }>>(
    target: Target,
    command: C,
  ): C | Rejection {
    const left = this.#find(target);
    if (left === undefined) {
      return command;
    }
    if (!this.#stands(left)) {
      const { incarnation, leaseVersion } = left;
      return { ...command, after: { incarnation, leaseVersion } };
    }
    return equalBytes(left.fingerprint, command.fingerprint)
      ? refusalOf(target, left)
      : conflictOf(target, left, command.fingerprint);
  }

  /** What is said of a run that is purged, to whoever deletes it again; undefined: it never was, or its tombstone is over. @throws StoreDamaged */
  gone(target: Target): { readonly run: Run; readonly runNumber: number } | undefined {
    const left = this.#find(target);
    if (left === undefined || !this.#stands(left) || target.kind !== "run") {
      return undefined;
    }
    const { namespace, runId } = target;
    const { deletedAtMs: atMs, untilMs: tombstoneUntilMs, incarnation } = left;
    const deletion = { atMs, tombstoneUntilMs, reason: "", principal: "" };
    const run: Run = { ...emptyLedger(), kind: "run", namespace, runId, incarnation, deletion };
    return { run, runNumber: left.run };
  }

  #find(target: Target): TombstoneRowShape | undefined {
    if (!this.#areAny || target.kind === "number") {
      return undefined;
    }
    const { store, partition } = this.#parts;
    const key =
      target.kind === "run"
        ? tombstoneOfRun(partition, target.namespace, target.runId)
        : tombstoneOfLedger(partition, target.namespace, target.operationKey);
    const value = store.get(key);
    return value === undefined ? undefined : readTombstone(key, value);
  }

  /** It stands on until nothing but it is left, whatever its time. */
  #stands({ untilMs, run }: TombstoneRowShape): boolean {
    const { store, partition, now } = this.#parts;
    return (
      untilMs === 0 ||
      untilMs > now() ||
      store.get(sweepKey.encode({ partition, runNumber: run })) !== undefined
    );
  }
}

/** True when a store has tombstones. */
export async function hasTombstones(store: Store, partition: number): Promise<boolean> {
  const found = await store.read({ ...rangeOfKind(tombstoneKey.kind, partition), limit: 1 });
  return found.length > 0;
}

function refusalOf(target: Target, { deletedAtMs, untilMs }: TombstoneRowShape): Rejection {
  return deleted({ ...nameOf(target), deletedAtMs, tombstoneUntilMs: untilMs });
}

function conflictOf(
  target: Target,
  { fingerprint: recorded }: TombstoneRowShape,
  received: Uint8Array,
): Rejection {
  const differs = target.kind === "run" ? "input" : "payload";
  return fingerprintConflict({ ...nameOf(target), recorded, received, differs });
}

function nameOf(target: Target): { readonly entity: "run" | "operation"; readonly id: string } {
  switch (target.kind) {
    case "run":
      return { entity: "run", id: target.runId };
    case "ledger":
      return { entity: "operation", id: target.operationKey };
    case "number":
      return { entity: "run", id: `${target.number}` };
  }
}
