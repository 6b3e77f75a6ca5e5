import { invalidField } from "../core/rejection.js";
import { equalBytes, readU32, readU64, writeU32, writeU64 } from "../log/bytes.js";
import { RejectionError } from "./outcome.js";

/** A place in the log: the last sequence delivered, and the hash of the segment that ends with it. Opaque bytes in the API. */
export interface Position {
  readonly sequence: number;
  readonly hash: Uint8Array;
}

const version = 1;
const storeIdBytes = 16;
const positionBytes = 1 + storeIdBytes + 4 + 8 + 32;

/** Makes and reads the positions of one store and epoch. */
export class PositionCodec {
  readonly #storeId: Uint8Array;
  readonly #epoch: number;

  /** @param storeId 16 bytes. */
  constructor(storeId: Uint8Array, epoch: number) {
    this.#storeId = storeId;
    this.#epoch = epoch;
  }

  encode(position: Position): Uint8Array {
    const bytes = new Uint8Array(positionBytes);
    bytes[0] = version;
    bytes.set(this.#storeId, 1);
    writeU32(bytes, 17, this.#epoch);
    writeU64(bytes, 21, position.sequence);
    bytes.set(position.hash, 29);
    return bytes;
  }

  /** @throws RejectionError PAWL_INVALID_POSITION for bytes that no kernel of this store made. */
  decode(bytes: Uint8Array): Position {
    const isOurs =
      bytes.length === positionBytes &&
      bytes[0] === version &&
      equalBytes(bytes.subarray(1, 17), this.#storeId) &&
      readU32(bytes, 17) === this.#epoch;
    if (!isOurs) {
      throw new RejectionError({
        ...invalidField(
          "position",
          "a position that this store gave",
          `${bytes.length} other bytes`,
        ),
        reason: "PAWL_INVALID_POSITION",
      });
    }
    return { sequence: readU64(bytes, 21), hash: bytes.slice(29) };
  }
}
