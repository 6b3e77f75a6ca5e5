/**
 * Reads what a LevelDB MANIFEST says: which tables make up the database and which log file goes on from there
 * (LevelDB 1.20, db/version_edit.cc).
 */

import { ByteCursor } from "./byte-cursor.js";

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
  return edits.every((edit) => applyEdit(state, new ByteCursor(edit))) ? state : undefined;
}

interface ManifestState {
  logNumber: number;
  readonly tables: Map<number, number>;
}

type ReadTag = (state: ManifestState, cursor: ByteCursor) => void;

const TAGS: ReadonlyMap<number, ReadTag> = new Map<number, ReadTag>([
  // comparator
  [1, (_state, cursor) => cursor.string()],
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
      cursor.string();
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
      cursor.string();
      cursor.string();
    },
  ],
  // previous log number, no longer used
  [9, (_state, cursor) => cursor.varint()],
]);

/** False if the bytes are no version edit. Deleted files come before new ones, so order within an edit is kept. */
function applyEdit(state: ManifestState, cursor: ByteCursor): boolean {
  while (!cursor.isAtEnd) {
    const readTag = TAGS.get(cursor.varint());
    if (readTag === undefined) return false;
    readTag(state, cursor);
  }
  return !cursor.isBad;
}
