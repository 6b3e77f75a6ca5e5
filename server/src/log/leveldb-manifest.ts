/**
 * Reads what a LevelDB MANIFEST says: which tables make up the database and which log file goes on from there
 * (LevelDB 1.20, db/version_edit.cc).
 */

/** The files that a database is made of. */
export interface LevelManifest {
  /** Logs with this number and above hold what is in no table yet; 0 in a database that was never opened. */
  readonly logNumber: number;
  /** Length of every live table, by its number. */
  readonly tables: ReadonlyMap<number, number>;
}

/** Puts the version edits of a MANIFEST together; undefined if one of them is no version edit. */
export function readManifest(edits: readonly Uint8Array[]): LevelManifest | undefined {
  const state = { logNumber: 0, tables: new Map<number, number>() };
  return edits.every((edit) => applyEdit(state, new Cursor(edit))) ? state : undefined;
}

interface ManifestState {
  logNumber: number;
  readonly tables: Map<number, number>;
}

type ReadTag = (state: ManifestState, cursor: Cursor) => void;

const TAGS: ReadonlyMap<number, ReadTag> = new Map<number, ReadTag>([
  // comparator
  [1, (_state, cursor) => cursor.skipString()],
  // log number
  [
    2,
    (state, cursor) => {
      state.logNumber = cursor.varint();
    },
  ],
  // next file number, last sequence
  [3, (_state, cursor) => cursor.varint()],
  [4, (_state, cursor) => cursor.varint()],
  // compact pointer: level, key
  [
    5,
    (_state, cursor) => {
      cursor.varint();
      cursor.skipString();
    },
  ],
  // deleted file: level, number
  [
    6,
    (state, cursor) => {
      cursor.varint();
      state.tables.delete(cursor.varint());
    },
  ],
  // new file: level, number, length, smallest and largest key
  [
    7,
    (state, cursor) => {
      cursor.varint();
      const number = cursor.varint();
      state.tables.set(number, cursor.varint());
      cursor.skipString();
      cursor.skipString();
    },
  ],
  // previous log number, no longer used
  [9, (_state, cursor) => cursor.varint()],
]);

/** False if the bytes are no version edit. Deleted files come before new ones, so order within an edit is kept. */
function applyEdit(state: ManifestState, cursor: Cursor): boolean {
  while (!cursor.isAtEnd && !cursor.isBad) {
    const readTag = TAGS.get(cursor.varint());
    if (readTag === undefined) return false;
    readTag(state, cursor);
  }
  return !cursor.isBad;
}

class Cursor {
  readonly #bytes: Uint8Array;
  #at = 0;
  isBad = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.byteLength;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 56; scale *= 128) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    // Sequence numbers go to 2^56, but they only have to be passed over; anything longer is damage.
    this.isBad = true;
    return 0;
  }

  skipString(): void {
    const length = this.varint();
    this.#at += length;
    if (this.#at > this.#bytes.byteLength) this.isBad = true;
  }
}
