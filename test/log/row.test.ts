import { runKey } from "@pawl/server/log/key.js";
import { readRow, writeRow } from "@pawl/server/log/row.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withFlippedBit } from "./log-samples.js";

const key = runKey.encode({ partition: 0, runNumber: 1 });

describe("a row", () => {
  test("gives back what was put in", () => {
    const row = fc.record({
      schemaVersion: fc.integer({ min: 0, max: 0xffff }),
      asOfEvent: fc.integer({ min: 0, max: 0xffff_ffff }),
      asOfSequence: fc.maxSafeNat(),
      payload: fc.uint8Array({ maxLength: 100 }),
    });
    fc.assert(
      fc.property(row, (written) => {
        const read = readRow(key, writeRow(key, written));
        expect({ ...read, payload: Uint8Array.from(read.payload) }).toEqual(written);
      }),
    );
  });

  test("has these bytes", () => {
    const value = writeRow(key, {
      schemaVersion: 1,
      asOfEvent: 2,
      asOfSequence: 3,
      payload: Uint8Array.of(0xaa, 0xbb),
    });
    const hex = Buffer.from(value).toString("hex");
    // The crc32 of 10 0000 0000000000000001 · 0001 00000002 0000000000000003 · aabb, by another implementation.
    expect(hex).toBe("0001" + "00000002" + "0000000000000003" + "2822d0b2" + "aabb");
  });

  test("is refused for every single flipped bit of value or key, and cut at every length", () => {
    const value = writeRow(key, {
      schemaVersion: 1,
      asOfEvent: 2,
      asOfSequence: 3,
      payload: Uint8Array.of(0xaa, 0xbb, 0, 0),
    });
    const damaged = expect.objectContaining({ code: "PAWL_STORE_DAMAGED" });
    for (let bit = 0; bit < value.byteLength * 8; bit += 1) {
      expect(() => readRow(key, withFlippedBit(value, bit))).toThrow(damaged);
    }
    for (let bit = 0; bit < key.byteLength * 8; bit += 1) {
      expect(() => readRow(withFlippedBit(key, bit), value)).toThrow(damaged);
    }
    for (let length = 0; length < value.byteLength; length += 1) {
      expect(() => readRow(key, value.subarray(0, length))).toThrow(damaged);
    }
  });
});
