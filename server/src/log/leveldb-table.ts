/**
 * Checks a LevelDB table (`*.ldb`) whole, since LevelDB through this binding never compares the checksums that it
 * writes: a turned bit in a key makes a row vanish, one in a filter makes LevelDB say that it is absent.
 *
 * Format (LevelDB, doc/table_format.md): blocks, each followed by 1 byte compression and 4 bytes checksum (masked
 * CRC-32C over the block and that byte); the last are the filter, the metaindex (where the filter is) and the index
 * (where the data blocks are); at the end a footer of 48 bytes with the handles of both indexes and a magic number.
 */

import { ByteCursor } from "./byte-cursor.js";
import { crc32c, unmaskCrc } from "./crc32c.js";
import { decompressSnappy } from "./snappy.js";

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const NOT_COMPRESSED = 0;
const SNAPPY = 1;
/** The last 8 bytes of every table. */
export const TABLE_MAGIC = "57fb808b247547db";
// An index of a 32 MB table with blocks of 4 KB has about 400 KB.
const INDEX_BYTES_MAX = 64 * 1024 * 1024;

/** Where a block lies. */
interface BlockHandle {
  readonly offset: number;
  readonly byteLength: number;
}

/** Where the first damage of a table is, in bytes from the start; undefined if there is none. */
export function findTableDamage(table: Uint8Array): number | undefined {
  const footerAt = table.byteLength - FOOTER_BYTES;
  if (footerAt < 0) return 0;
  const footer = new ByteCursor(table.subarray(footerAt, footerAt + 40));
  const metaindex = readHandle(footer);
  const index = readHandle(footer);
  const magic = Buffer.from(table.subarray(table.byteLength - 8)).toString("hex");
  if (footer.isBad || magic !== TABLE_MAGIC) return footerAt;
  const dataBlocks = readIndex(table, index);
  if (dataBlocks === undefined) return index.offset;
  const filters = readIndex(table, metaindex);
  if (filters === undefined) return metaindex.offset;
  const blocks = [...dataBlocks, ...filters, metaindex, index].sort((a, b) => a.offset - b.offset);
  let at = 0;
  for (const block of blocks) {
    // Blocks lie side by side: bytes that belong to none would be unchecked.
    if (block.offset !== at || blockAt(table, block) === undefined) return at;
    at += block.byteLength + TRAILER_BYTES;
  }
  return at === footerAt ? undefined : at;
}

/** The block behind a handle, as stored, and how it is compressed; undefined unless its checksum fits. */
function blockAt(
  table: Uint8Array,
  { offset, byteLength }: BlockHandle,
): { readonly bytes: Uint8Array; readonly compression: number } | undefined {
  const end = offset + byteLength;
  if (end + TRAILER_BYTES > table.byteLength) return undefined;
  const stored = Buffer.from(table.buffer, table.byteOffset + end + 1, 4).readUInt32LE();
  if (crc32c(table.subarray(offset, end + 1)) !== unmaskCrc(stored)) return undefined;
  return { bytes: table.subarray(offset, end), compression: table[end] ?? NOT_COMPRESSED };
}

/** The handles that an index block holds; undefined if it is damaged. */
function readIndex(table: Uint8Array, handle: BlockHandle): readonly BlockHandle[] | undefined {
  const block = blockAt(table, handle);
  if (block === undefined) return undefined;
  const content =
    block.compression === SNAPPY ? decompressSnappy(block.bytes, INDEX_BYTES_MAX) : block.bytes;
  if (content === undefined || content.byteLength < 4) return undefined;
  // At the end: offsets of restart points, 4 bytes each, and their count.
  const restarts = Buffer.from(
    content.buffer,
    content.byteOffset + content.byteLength - 4,
    4,
  ).readUInt32LE();
  const entriesEnd = content.byteLength - 4 - restarts * 4;
  if (entriesEnd < 0) return undefined;
  const cursor = new ByteCursor(content.subarray(0, entriesEnd));
  const handles: BlockHandle[] = [];
  while (!cursor.isAtEnd) {
    // Shared length of the key, own length, length of the value; own part of the key; value.
    cursor.varint();
    const keyLength = cursor.varint();
    const valueLength = cursor.varint();
    cursor.take(keyLength);
    const value = new ByteCursor(cursor.take(valueLength));
    handles.push(readHandle(value));
    if (value.isBad) return undefined;
  }
  return cursor.isBad ? undefined : handles;
}

function readHandle(cursor: ByteCursor): BlockHandle {
  return { offset: cursor.varint(), byteLength: cursor.varint() };
}
