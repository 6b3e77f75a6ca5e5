import type { Rejection } from "../core/rejection.js";
import type { Fence, Store } from "../log/store.js";
import type { Loop } from "./loop.js";
import type { Position } from "./position.js";
import { type Loss, lossPut, readLoss } from "./storage/loss-row.js";

/** What holding needs. */
export interface HoldParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly loop: Loop;
}

/**
 * Makes the kernel read-only once a caller has shown that something acknowledged is gone, until an operator decides: every further
 * event would make it harder to put the lost ones back. What is there is served. The finding is kept in a row, so a restart stays read-only;
 * a new epoch ends it.
 */
export class Hold {
  readonly #parts: HoldParts;
  readonly #listeners: (() => void)[] = [];
  #loss: Loss | undefined;

  constructor(parts: HoldParts) {
    this.#parts = parts;
    const { store, partition, loop } = parts;
    this.#loss = readLoss(store, partition);
    if (this.#loss !== undefined) {
      loop.hold(readOnly(this.#loss));
    }
  }

  /** What was lost; undefined while the kernel takes work. */
  get loss(): Loss | undefined {
    return this.#loss;
  }

  /** One sentence on why the kernel is read-only; empty while it is not. */
  get reason(): string {
    return this.#loss === undefined ? "" : describeLoss(this.#loss);
  }

  /** Calls back once when the kernel becomes read-only, at once when it is. */
  onHeld(callback: () => void): void {
    if (this.#loss === undefined) {
      this.#listeners.push(callback);
    } else {
      callback();
    }
  }

  /** A caller brought a position that was acknowledged and is not in the log. The answer, once it is on disk, is what the caller is told. */
  async found(position: Position): Promise<Rejection> {
    const { store, fence, partition, loop } = this.#parts;
    const known = this.#loss;
    const loss: Loss =
      known !== undefined && known.position.sequence >= position.sequence
        ? known
        : {
            position,
            headSequence: loop.durableHead.sequence,
            foundAtMs: loop.clock.now(),
          };
    if (loss !== known) {
      this.#loss = loss;
      loop.hold(readOnly(loss));
      try {
        await store.putRows({ puts: [lossPut(partition, loss)], deletes: [], ranges: [] }, fence);
      } catch (error) {
        loop.fail(error);
      }
      for (const listener of this.#listeners.splice(0)) {
        listener();
      }
    }
    return {
      reason: "PAWL_DATA_LOSS",
      message:
        `Expected the log to hold the acknowledged sequence ${position.sequence}, but it does not: it ends at ${loss.headSequence}, or goes another way. ` +
        "The kernel is read-only. Next: have an operator put a better copy of the data folder in place, or accept the loss with pawl restore.",
      detail: {
        case: "dataLoss",
        value: {
          acknowledgedSequence: BigInt(position.sequence),
          durableSequence: BigInt(loss.headSequence),
        },
      },
    };
  }
}

/** Why a kernel is read-only, as the end of a sentence. */
export function describeLoss({ position, headSequence }: Loss): string {
  return (
    `a caller holds a position of this store at sequence ${position.sequence} that its log does not have (it ended at ${headSequence}), ` +
    "so something acknowledged is gone"
  );
}

/** The refusal of all that would change something. */
function readOnly(loss: Loss): Rejection {
  return {
    reason: "PAWL_READ_ONLY",
    message:
      `Expected a kernel that takes work, but it is read-only: ${describeLoss(loss)}. ` +
      "Next: send the same request again once an operator has decided: a better copy of the data folder, or pawl restore.",
    retryAfterMs: 5000,
  };
}
