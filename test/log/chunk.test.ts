import { createHash } from "node:crypto";
import {
  buildChunk,
  CHUNK_ORIGIN,
  chunkPointOf,
  packChunks,
  readChunk,
  verifyChunkLink,
} from "@pawl/server/log/chunk.js";
import { eventsOf } from "@pawl/server/log/event-frames.js";
import { chunkKey } from "@pawl/server/log/key.js";
import type { EventSlice } from "@pawl/server/log/segment.js";
import { StoreDamaged, StoreWriteInvalid } from "@pawl/server/log/store-errors.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventBytes, eventsBytes, withFlippedBit } from "./log-samples.js";

function keyOf(runNumber: number, chunkNumber: number): Uint8Array {
  return chunkKey.encode({ partition: 0, runNumber, chunkNumber });
}

function slice(firstEventNumber: number, count: number, length = 5): EventSlice {
  return {
    firstSequence: firstEventNumber * 10,
    timeBaseMs: 1_700_000_000_000 + firstEventNumber,
    firstEventNumber,
    count,
    bytes: eventsBytes(count, length, firstEventNumber),
  };
}

/** An event of any length: protobuf's varint before it, written here by hand. */
function longEvent(length: number): Uint8Array {
  const bytes = new Uint8Array(length + 3).fill(1);
  bytes.set([(length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]);
  return bytes;
}

function comparable(slices: Iterable<EventSlice>): readonly object[] {
  return [...slices].map((s) => ({ ...s, bytes: Buffer.from(s.bytes) }));
}

const sample = {
  runNumber: 7,
  chunkNumber: 0,
  prevHash: CHUNK_ORIGIN.hash,
  slices: [slice(1, 2), slice(3, 1)],
};

describe("a chunk", () => {
  test("gives back the slices of its run", () => {
    const { value, hash } = buildChunk(sample);
    const chunk = readChunk(keyOf(7, 0), value);
    expect(comparable(chunk.slices())).toEqual(comparable(sample.slices));
    expect(chunk).toMatchObject({ runNumber: 7, chunkNumber: 0, firstEventNumber: 1, count: 3 });
    expect(Buffer.from(chunk.hash)).toEqual(Buffer.from(hash));
  });

  test("has these bytes, and its hash is the SHA-256 of all before it", () => {
    const { value } = buildChunk(sample);
    const hex = Buffer.from(value).toString("hex");
    expect(hex.slice(0, 64)).toBe(
      "50574c4300000000" + "0000000000000007" + "00000000" + "00000001" + "00000003" + "00000002",
    );
    expect(hex.slice(144, 144 + 80)).toBe(
      "000000000000000a" +
        "0000018bcfe56801" +
        "00000001" +
        "00000002" +
        "0000000c" +
        "050101010101" +
        "050101010101",
    );
    expect(hex.slice(-64)).toBe(createHash("sha256").update(value.subarray(0, -32)).digest("hex"));
  });

  test("links to the one before, and nothing else does", () => {
    const built = buildChunk(sample);
    const first = readChunk(keyOf(7, 0), built.value);
    verifyChunkLink(CHUNK_ORIGIN, first);
    const next = { runNumber: 7, chunkNumber: 1, prevHash: built.hash, slices: [slice(4, 1)] };
    const read = (change: object, chunkNumber = 1): ReturnType<typeof readChunk> =>
      readChunk(keyOf(7, chunkNumber), buildChunk({ ...next, ...change }).value);
    verifyChunkLink(chunkPointOf(first), read({}));
    for (const wrong of [
      read({ chunkNumber: 2 }, 2),
      read({ slices: [slice(5, 1)] }),
      read({ prevHash: CHUNK_ORIGIN.hash }),
    ]) {
      expect(() => verifyChunkLink(chunkPointOf(first), wrong)).toThrow(StoreDamaged);
    }
  });

  test("is not built of nothing, nor of slices with a gap", () => {
    for (const slices of [[], [slice(1, 2), slice(4, 1)]]) {
      expect(() => buildChunk({ ...sample, slices })).toThrow(StoreWriteInvalid);
    }
  });
});

describe("a damaged chunk is refused", () => {
  test("for every single flipped bit, and cut at every length, naming its key", () => {
    const { value } = buildChunk(sample);
    const damaged = [
      ...Array.from({ length: value.byteLength * 8 }, (_, bit) => withFlippedBit(value, bit)),
      ...Array.from({ length: value.byteLength }, (_, length) => value.subarray(0, length)),
    ];
    for (const bytes of damaged) {
      expect(() => readChunk(keyOf(7, 0), bytes)).toThrow(
        expect.objectContaining({
          code: "PAWL_STORE_DAMAGED",
          key: "180000000000000000000700000000",
        }),
      );
    }
  });

  test("under the key of another run or chunk", () => {
    const { value } = buildChunk(sample);
    expect(() => readChunk(keyOf(8, 0), value)).toThrow(StoreDamaged);
    expect(() => readChunk(keyOf(7, 1), value)).toThrow(StoreDamaged);
  });
});

describe("packing chunks", () => {
  test("leaves slices whole where they fit", () => {
    const slices = [slice(1, 100), slice(101, 156), slice(257, 1)];
    expect(packChunks(slices)).toEqual([slices.slice(0, 2), slices.slice(2)]);
    expect(packChunks([])).toEqual([]);
  });

  test("cuts a slice of 600 events at 256 and 512", () => {
    const groups = packChunks([slice(1, 600)]);
    const cuts = groups.map((group) =>
      group.map((s) => [s.firstEventNumber, s.firstSequence, s.count]),
    );
    expect(cuts).toEqual([[[1, 10, 256]], [[257, 266, 256]], [[513, 522, 88]]]);
  });

  test("gives an event above 64 KiB a chunk of its own", () => {
    const bytes = Buffer.concat([eventBytes(5, 5), longEvent(70_000), eventBytes(6, 6)]);
    const groups = packChunks([{ ...slice(1, 3), bytes }]);
    expect(groups.map((group) => group.map((s) => s.bytes.byteLength))).toEqual([
      [6],
      [70_003],
      [7],
    ]);
  });

  test("keeps every event, in order, within the bounds, for any slices", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 4 }), (written) => {
        let next = 1;
        const slices = written.map((list) => {
          const made = {
            ...slice(next, 1),
            count: list.length,
            bytes: Buffer.concat(list.map(longEvent)),
          };
          next += list.length;
          return made;
        });
        const groups = packChunks(slices);
        const numbers = groups.flatMap((group) =>
          group.flatMap((s) => [...eventsOf(s)].map((e) => [e.eventNumber, e.bytes.byteLength])),
        );
        expect(numbers).toEqual(written.flat().map((length, index) => [index + 1, length]));
        for (const group of groups) {
          const count = group.reduce((sum, s) => sum + s.count, 0);
          const bytes = group.reduce((sum, s) => sum + s.bytes.byteLength, 0);
          expect(count).toBeLessThanOrEqual(256);
          expect(bytes <= 64 * 1024 || count === 1).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe("the events of a slice", () => {
  test("have their sequence and number, and their bytes without the length", () => {
    const events = [...eventsOf(slice(3, 2))].map((e) => ({ ...e, bytes: Buffer.from(e.bytes) }));
    expect(events).toEqual([
      { sequence: 30, eventNumber: 3, bytes: Buffer.from([3, 3, 3, 3, 3]) },
      { sequence: 31, eventNumber: 4, bytes: Buffer.from([3, 3, 3, 3, 3]) },
    ]);
  });

  test.each([
    ["too few bytes", { count: 3 }],
    ["bytes left over", { count: 1 }],
    ["a length without end", { bytes: new Uint8Array(12).fill(0xff) }],
    ["a length beyond the slice", { bytes: Uint8Array.of(5, 1, 1, 1, 1, 1, 9, 1) }],
  ])("are refused with %s", (_what, change) => {
    expect(() => [...eventsOf({ ...slice(1, 2), ...change })]).toThrow(StoreDamaged);
  });
});
