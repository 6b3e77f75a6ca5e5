import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { Execution } from "../execution.js";
import type { FunctionContext } from "./function-context.js";

/** Bytes of memory that a worker spends on functions that wait, when its options do not say. */
export const WARM_BYTES_DEFAULT: number = 67_108_864;

/** Most functions that one worker keeps: the kernel keeps no more in mind either. */
const COPIES_MAX = 65_536;

/** A function that waits, in memory as it stands. */
export interface WarmCopy {
  readonly ctx: FunctionContext;
  readonly execution: Execution;
}

/** What tells which lease a copy fits. */
type Leased = Pick<Offer, "runId" | "task" | "kind" | "incarnation" | "leaseVersion">;

interface Kept extends WarmCopy {
  readonly leased: Leased;
  readonly bytes: number;
}

/**
 * Functions that wait for something and are kept in memory, so that they can go on where they stand. One that is not there is read again from its records, with the
 * same outcome, so any may be dropped at any time: nothing of it runs then, no `catch` and no `finally`.
 */
export class WarmCopies {
  readonly #bytesMax: number;
  readonly #copiesMax: number;
  /** By run and task; the one that was given back the longest ago comes first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /**
   * @param bytesMax Bound of what they take, by an estimate. 0: none is kept.
   * @param copiesMax Most copies.
   */
  constructor(bytesMax: number, copiesMax: number = COPIES_MAX) {
    this.#bytesMax = bytesMax;
    this.#copiesMax = copiesMax;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** About how many bytes they take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Keeps a function that was suspended under this lease. False when it is too large. */
  keep(leased: Leased, copy: WarmCopy): boolean {
    const bytes = copy.ctx.warmBytes;
    if (bytes > this.#bytesMax) return false;
    const key = keyOf(leased);
    this.#drop(key);
    this.#kept.set(key, { ...copy, leased, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax && this.#kept.size <= this.#copiesMax) break;
      this.#drop(oldest);
    }
    return true;
  }

  /** The copy that an offer goes on with. Whatever is kept of its task is kept no longer: one of another lease fits no more. */
  take(offer: Leased & Pick<Offer, "warm">): WarmCopy | undefined {
    const kept = this.#drop(keyOf(offer));
    if (kept === undefined || !offer.warm) return undefined;
    const { leased, execution, ctx } = kept;
    const fits =
      leased.leaseVersion + 1 === offer.leaseVersion &&
      leased.incarnation === offer.incarnation &&
      leased.kind === offer.kind;
    // Code that did something of its own meanwhile stands elsewhere than its records say.
    const isIntact = !execution.hasEnded && !ctx.wasCalledAsleep;
    return fits && isIntact ? kept : undefined;
  }

  /** Drops the copy that was suspended under this lease. */
  drop(leased: Leased): void {
    const key = keyOf(leased);
    if (this.#kept.get(key)?.leased.leaseVersion === leased.leaseVersion) this.#drop(key);
  }

  /** Drops all. */
  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  #drop(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#bytes -= kept.bytes;
    }
    return kept;
  }
}

function keyOf({ runId, task }: Leased): string {
  return JSON.stringify([runId, task]);
}
