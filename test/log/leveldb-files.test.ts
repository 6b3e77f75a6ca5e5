import { crc32c, unmaskCrc } from "@pawl/server/log/crc32c.js";
import { readLevelLog } from "@pawl/server/log/leveldb-log.js";
import { readManifest } from "@pawl/server/log/leveldb-manifest.js";
import { decompressSnappy } from "@pawl/server/log/snappy.js";
import { describe, expect, test } from "vitest";

const BLOCK = 32_768;

/** One part of a record as LevelDB writes it; type 1 is a whole record, 2 its first part, 3 a middle, 4 the last. */
function part(type: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(7);
  const crc = crc32c(Buffer.concat([Buffer.of(type), content]));
  // The mask of util/crc32c.h: turned right by 15, plus a constant.
  head.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
  head.writeUInt16LE(content.byteLength, 4);
  head[6] = type;
  return Buffer.concat([head, content]);
}

function data(length: number, fill: number): Buffer {
  return Buffer.alloc(length, fill);
}

/** A record of 40,000 bytes at the start of a block: a first part up to the block's end, and a last part. */
function longRecord(): Buffer {
  return Buffer.concat([part(2, data(BLOCK - 7, 1)), part(4, data(40_000 - BLOCK + 7, 1))]);
}

const strict = { tail: "strict" } as const;
const torn = { tail: "torn" } as const;

describe("a log of LevelDB", () => {
  test("gives its records, put together over blocks", () => {
    const bytes = Buffer.concat([longRecord(), part(1, data(5, 2))]);
    const { records, damagedAt } = readLevelLog(bytes, { ...strict, keepRecords: true });
    expect(damagedAt).toBeUndefined();
    expect(records.map((record) => [record.byteLength, record[0]])).toEqual([
      [40_000, 1],
      [5, 2],
    ]);
  });

  test("skips the rest of a block that has no room for a head", () => {
    const bytes = Buffer.concat([part(1, data(BLOCK - 7 - 3, 1)), data(3, 0), part(1, data(4, 2))]);
    expect(readLevelLog(bytes, { ...strict, keepRecords: true }).records).toHaveLength(2);
    bytes[BLOCK - 1] = 1;
    expect(readLevelLog(bytes, strict).damagedAt).toBe(BLOCK - 3);
  });

  test("may end anywhere in a record, and in zeros", () => {
    const parts = [part(1, data(100, 1)), part(2, data(BLOCK - 114, 1)), part(4, data(900, 1))];
    const bytes = Buffer.concat(parts);
    for (let length = 0; length <= bytes.byteLength; length += 37) {
      expect(readLevelLog(bytes.subarray(0, length), strict).damagedAt).toBeUndefined();
    }
    const padded = Buffer.concat([part(1, data(100, 1)), data(5_000, 0)]);
    expect(readLevelLog(padded, strict).damagedAt).toBeUndefined();
  });

  test("is damaged by any turned bit, also in the last record", () => {
    const bytes = Buffer.concat([part(1, data(20, 1)), part(1, data(20, 2))]);
    for (let bit = 0; bit < bytes.byteLength * 8; bit += 1) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(readLevelLog(copy, strict).damagedAt).toBe(bit < 27 * 8 ? 0 : 27);
    }
  });

  test.each([
    ["zeros in the middle", [part(1, data(9, 1)), data(50, 0), part(1, data(9, 2))], 16],
    ["a part without a first one", [part(1, data(9, 1)), part(4, data(9, 2))], 16],
    ["a record inside another", [part(2, data(9, 1)), part(1, data(9, 2))], 16],
    ["a record that crosses its block", [part(1, data(40_000, 1))], 0],
  ])("is damaged by %s", (_what, parts, damagedAt) => {
    expect(readLevelLog(Buffer.concat(parts), strict).damagedAt).toBe(damagedAt);
  });

  test("after a failed write may end in what no longer fits, if no good record follows", () => {
    const good = part(1, data(100, 1));
    // 60 of 207 bytes of one write, and behind them all of another that was on its way as well.
    const misplaced = Buffer.concat([part(1, data(200, 2)).subarray(0, 60), part(1, data(300, 3))]);
    const bytes = Buffer.concat([good, misplaced]);
    expect(readLevelLog(bytes, strict).damagedAt).toBe(107);
    expect(readLevelLog(bytes, torn).damagedAt).toBeUndefined();
  });

  test("after a failed write is still damaged where a good record follows", () => {
    const bytes = Buffer.concat([
      part(1, data(100, 1)),
      part(1, data(100, 2)),
      part(1, data(9, 3)),
    ]);
    bytes[50] = 0xff;
    expect(readLevelLog(bytes, torn).damagedAt).toBe(0);
    const blocks = Buffer.concat([part(1, data(BLOCK - 7, 1)), part(1, data(9, 2))]);
    blocks[5] = 0xff;
    expect(readLevelLog(blocks, torn).damagedAt).toBe(0);
  });
});

describe("a MANIFEST", () => {
  const name = [1, 3, 0x61, 0x62, 0x63];

  test("names the live tables and the log that goes on", () => {
    const first = Buffer.from([
      ...name,
      2,
      9,
      3,
      10,
      4,
      200,
      1,
      7,
      0,
      5,
      0xac,
      2,
      1,
      0x61,
      1,
      0x7a,
    ]);
    const second = Buffer.from([2, 12, 6, 0, 5, 7, 1, 11, 8, 0, 0, 5, 1, 1, 0x61, 9, 0]);
    expect(readManifest([first, second])).toEqual({ logNumber: 12, tables: new Map([[11, 8]]) });
    expect(readManifest([first])).toEqual({ logNumber: 9, tables: new Map([[5, 300]]) });
  });

  test.each([
    ["an unknown tag", [8, 1]],
    ["a cut number", [2, 0x80]],
    ["a cut string", [1, 9, 0x61]],
    ["a number without end", [2, ...Array<number>(10).fill(0xff), 1]],
  ])("is none with %s", (_what, edit) => {
    expect(readManifest([Buffer.from(edit)])).toBeUndefined();
  });
});

describe("CRC-32C", () => {
  // RFC 3720, B.4, and the check value of the polynomial.
  test.each([
    ["123456789", Buffer.from("123456789"), 0xe3069283],
    ["32 zeros", Buffer.alloc(32), 0x8a9136aa],
    ["32 ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
    ["0 to 31", Buffer.from(Array.from({ length: 32 }, (_, n) => n)), 0x46dd794e],
    ["nothing", Buffer.alloc(0), 0],
  ])("of %s is the published one, also in two parts", (_what, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
    for (let cut = 0; cut <= bytes.byteLength; cut += 1) {
      expect(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut)))).toBe(expected);
    }
  });

  test("comes out of LevelDB's mask", () => {
    // ((0x00000001 >>> 15) | (1 << 17)) + 0xa282ead8, worked out by hand.
    expect(unmaskCrc(0xa284ead8)).toBe(1);
  });
});

describe("Snappy", () => {
  // Blocks worked out by hand from format_description.txt.
  test.each([
    ["nothing", [0], ""],
    ["a literal", [3, 2 << 2, 0x61, 0x62, 0x63], "abc"],
    ["a long literal", [61, 60 << 2, 60, ...Array<number>(61).fill(0x61)], "a".repeat(61)],
    ["a short copy that repeats itself", [9, 0, 0x61, (4 << 2) | 1, 1], "a".repeat(9)],
    ["a copy by 2 bytes", [6, 2 << 2, 0x61, 0x62, 0x63, (2 << 2) | 2, 3, 0], "abcabc"],
    ["a copy by 4 bytes", [6, 2 << 2, 0x61, 0x62, 0x63, (2 << 2) | 3, 3, 0, 0, 0], "abcabc"],
  ])("gives %s", (_what, input, expected) => {
    const output = decompressSnappy(Buffer.from(input), 1_000);
    expect(Buffer.from(output ?? []).toString()).toBe(expected);
  });

  test.each([
    ["no length", []],
    ["a length without end", Array<number>(6).fill(0xff)],
    ["more than allowed", [0xe9, 7]],
    ["less than announced", [4, 2 << 2, 0x61, 0x62, 0x63]],
    ["a cut literal", [3, 2 << 2, 0x61]],
    ["a copy from before the start", [5, 0, 0x61, 1, 2]],
    ["a copy from nowhere", [5, 0, 0x61, 1, 0]],
    ["a cut copy", [5, 0, 0x61, 1]],
  ])("refuses %s", (_what, input) => {
    expect(decompressSnappy(Buffer.from(input), 1_000)).toBeUndefined();
  });
});
