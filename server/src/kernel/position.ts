import { timingSafeEqual } from "node:crypto";
import { invalidField, type Rejection } from "../core/rejection.js";
import {
  equalBytes,
  readU16,
  readU32,
  readU64,
  writeU16,
  writeU32,
  writeU64,
} from "../log/bytes.js";
import { Hmac } from "../log/hmac.js";
import { RejectionError } from "./outcome.js";

/** A place in the log: the last sequence delivered, and the hash of the segment that ends with it. Opaque bytes in the API. */
export interface Position {
  readonly sequence: number;
  readonly hash: Uint8Array;
}

/** Whose positions they are. */
export interface PositionCodecParts {
  /** A UUID. */
  readonly storeId: string;
  readonly epoch: number;
  readonly partition: number;
  /** The store's secret. */
  readonly secret: Uint8Array;
  /** Last sequence of an earlier epoch that the present one keeps; undefined when that is not known. */
  readonly keptThrough: (epoch: number) => number | undefined;
}

// version 1 · store id 16 · epoch 4 · partition 2 · sequence 8 · hash 32 · MAC 16
const version = 2;
const epochAt = 17;
const partitionAt = 21;
const sequenceAt = 23;
const hashAt = 31;
const macAt = 63;
/** Half of the hash: as many bits as anyone could ever try. */
const macBytes = 16;
const positionBytes = macAt + macBytes;

/**
 * Makes and reads the positions of one store, epoch and partition. Each carries a MAC of the store's secret, so that a position which
 * passes is one that this store gave: what it names was acknowledged.
 */
export class PositionCodec {
  readonly #parts: PositionCodecParts;
  readonly #storeId: Uint8Array;
  readonly #hmac: Hmac;
  /** All answers of a turn carry the same one. */
  #last: { readonly position: Position; readonly bytes: Uint8Array } | undefined;

  constructor(parts: PositionCodecParts) {
    this.#parts = parts;
    this.#storeId = Buffer.from(parts.storeId.replaceAll("-", ""), "hex");
    this.#hmac = new Hmac(parts.secret);
  }

  encode(position: Position): Uint8Array {
    if (this.#last?.position === position) {
      return this.#last.bytes;
    }
    const bytes = new Uint8Array(positionBytes);
    bytes[0] = version;
    bytes.set(this.#storeId, 1);
    writeU32(bytes, epochAt, this.#parts.epoch);
    writeU16(bytes, partitionAt, this.#parts.partition);
    writeU64(bytes, sequenceAt, position.sequence);
    bytes.set(position.hash, hashAt);
    bytes.set(this.#macOf(bytes), macAt);
    this.#last = { position, bytes };
    return bytes;
  }

  /**
   * @throws RejectionError PAWL_INVALID_POSITION for bytes that this store never gave, PAWL_STORE_REWOUND for a position of another epoch.
   */
  decode(bytes: Uint8Array): Position {
    if (!this.#isOurs(bytes)) {
      throw new RejectionError({
        ...invalidField(
          "position",
          "a position that this store gave",
          `${bytes.length} other bytes`,
        ),
        reason: "PAWL_INVALID_POSITION",
      });
    }
    const epoch = readU32(bytes, epochAt);
    if (epoch !== this.#parts.epoch) {
      throw new RejectionError(this.#rewound(epoch));
    }
    return { sequence: readU64(bytes, sequenceAt), hash: bytes.slice(hashAt, macAt) };
  }

  #isOurs(bytes: Uint8Array): boolean {
    return (
      bytes.length === positionBytes &&
      bytes[0] === version &&
      equalBytes(bytes.subarray(1, epochAt), this.#storeId) &&
      readU16(bytes, partitionAt) === this.#parts.partition &&
      timingSafeEqual(bytes.subarray(macAt), this.#macOf(bytes))
    );
  }

  #macOf(bytes: Uint8Array): Uint8Array {
    return this.#hmac.sign(bytes.subarray(0, macAt)).subarray(0, macBytes);
  }

  #rewound(epoch: number): Rejection {
    const current = this.#parts.epoch;
    const kept = this.#parts.keptThrough(epoch);
    const stands =
      kept === undefined
        ? "Nothing is known of what it kept."
        : `Of what that epoch had, all up to sequence ${kept} stands; what came later is gone.`;
    return {
      reason: "PAWL_STORE_REWOUND",
      message:
        `Expected a position of epoch ${current}, but it is of epoch ${epoch}: the store was restored since, or is an older copy. ` +
        `${stands} Next: read what you follow anew, then watch again with an empty position.`,
      detail: {
        case: "storeRewound",
        value: { positionEpoch: epoch, storeEpoch: current, keptSequence: BigInt(kept ?? 0) },
      },
    };
  }
}
