/**
 * Why bytes could not be read, or a message could not be written.
 *
 * Reading:
 * - `PAWL_WIRE_TRUNCATED`: the bytes end inside a value, or a length reaches past the message that holds it.
 * - `PAWL_WIRE_VARINT`: a varint has more than ten bytes.
 * - `PAWL_WIRE_TAG`: a tag has field number 0, wire type 6 or 7, or more than 32 bits.
 * - `PAWL_WIRE_GROUP`: a group (wire types 3 and 4). Pawl's schemas have none.
 * - `PAWL_WIRE_DEPTH`: messages are nested deeper than 100 levels.
 * - `PAWL_WIRE_UTF8`: a string field does not hold valid UTF-8.
 *
 * Writing:
 * - `PAWL_WIRE_SURROGATE`: a string holds half of a surrogate pair, which UTF-8 cannot express.
 * - `PAWL_WIRE_RANGE`: a number does not fit its field's type.
 * - `PAWL_WIRE_TOO_LARGE`: the bytes would exceed 2 GiB - 1, protobuf's own bound.
 */
export type WireErrorCode =
  | "PAWL_WIRE_TRUNCATED"
  | "PAWL_WIRE_VARINT"
  | "PAWL_WIRE_TAG"
  | "PAWL_WIRE_GROUP"
  | "PAWL_WIRE_DEPTH"
  | "PAWL_WIRE_UTF8"
  | "PAWL_WIRE_SURROGATE"
  | "PAWL_WIRE_RANGE"
  | "PAWL_WIRE_TOO_LARGE";

/** What the wire codec throws; nothing else leaves it on bad input. */
export class WireError extends Error {
  /** Stable reason, for programs. */
  readonly code: WireErrorCode;
  /**
   * Where: a byte offset into the reader's input, or the writer's position. For `PAWL_WIRE_SURROGATE` the
   * index of the UTF-16 code unit in the string.
   */
  readonly offset: number;

  /** `message` says what was expected and what was found; code and offset are added to it. */
  constructor(code: WireErrorCode, offset: number, message: string, options?: { cause: unknown }) {
    super(`${code} at ${offset}: ${message}`, options);
    this.name = "WireError";
    this.code = code;
    this.offset = offset;
  }
}
