import { equalBytes } from "../log/bytes.js";
import { readLastSegment } from "../log/log-reader.js";
import { readMeta } from "../log/meta.js";
import { chainPointOf } from "../log/segment.js";
import type { Store } from "../log/store.js";
import type { Hold } from "./hold.js";
import { RejectionError } from "./outcome.js";
import type { Position, PositionCodec } from "./position.js";

/** What positions are judged by. */
export interface PositionJudgeParts {
  readonly positions: PositionCodec;
  readonly store: Store;
  readonly partition: number;
  /** Where the durable log ends. */
  readonly head: () => Position;
  readonly hold: Hold;
}

/** Judges the positions that callers bring. One that this store gave in this epoch was acknowledged, so the log must hold it. */
export class PositionJudge {
  readonly #parts: PositionJudgeParts;

  constructor(parts: PositionJudgeParts) {
    this.#parts = parts;
  }

  /**
   * Reads a position. One that is given but not held makes the kernel read-only.
   * @throws RejectionError PAWL_INVALID_POSITION, PAWL_STORE_REWOUND, PAWL_DATA_LOSS
   */
  async judge(bytes: Uint8Array): Promise<Position> {
    const position = this.#parts.positions.decode(bytes);
    if (await this.#isHeld(position)) {
      return position;
    }
    throw new RejectionError(await this.#parts.hold.found(position));
  }

  /** False when the log ends before the position, or has another segment there. What is trimmed, or names no segment, cannot be told. */
  async #isHeld(position: Position): Promise<boolean> {
    const { store, partition, head } = this.#parts;
    const end = head();
    if (position.sequence >= end.sequence) {
      const isAtEnd = position.sequence === end.sequence;
      return isAtEnd && (isPlaceInRun(position) || equalBytes(position.hash, end.hash));
    }
    if (isPlaceInRun(position) || position.sequence <= readMeta(store, partition).anchor.sequence) {
      return true;
    }
    const segment = await readLastSegment(store, partition, position.sequence);
    const found = segment === undefined ? undefined : chainPointOf(segment);
    // Trimmed since the anchor was read.
    return (
      found === undefined ||
      (found.sequence === position.sequence && equalBytes(found.hash, position.hash))
    );
  }
}

/** A place within one run's history names no segment. */
function isPlaceInRun({ hash }: Position): boolean {
  return hash.every((byte) => byte === 0);
}
