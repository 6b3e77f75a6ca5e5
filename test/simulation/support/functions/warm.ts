import type { Offer } from "../worker-connection.js";
import type { FunctionMemory } from "./memory.js";

interface Kept {
  readonly memory: FunctionMemory;
  readonly leaseVersion: number;
}

/** Functions that a worker keeps in memory while they wait. */
export class WarmFunctions {
  readonly #kept = new Map<string, Kept>();

  /** Keeps one that is given back under this lease. */
  keep(offer: Offer, memory: FunctionMemory): void {
    this.#kept.set(keyOf(offer), { memory, leaseVersion: offer.leaseVersion });
  }

  /** Drops what was given back under this lease. */
  drop(offer: Offer): void {
    if (this.#kept.get(keyOf(offer))?.leaseVersion === offer.leaseVersion) {
      this.#kept.delete(keyOf(offer));
    }
  }

  /** The one that an offer goes on with, when the kernel says that it is warm and it is of the lease before. It is kept no longer. */
  take(offer: Offer): FunctionMemory | undefined {
    const kept = this.#kept.get(keyOf(offer));
    this.#kept.delete(keyOf(offer));
    const fits =
      offer.warmThrough !== undefined &&
      kept?.leaseVersion === offer.leaseVersion - 1 &&
      kept.memory.name.incarnation === offer.incarnation;
    return fits ? kept.memory : undefined;
  }

  /** The process has ended. */
  clear(): void {
    this.#kept.clear();
  }
}

function keyOf({ runId, taskName }: Offer): string {
  return `${runId}/${taskName}`;
}
