import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { segmentKey } from "@pawl/server/log/key.js";
import { chainPointOf, readSegment, SegmentBuilder, verifyLink } from "@pawl/server/log/segment.js";
import { StoreDamaged, StoreWriteInvalid } from "@pawl/server/log/store-errors.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventBytes, ORIGIN, sampleChain, sampleSegment, withFlippedBit } from "./log-samples.js";

function keyOf(sequence: number): Uint8Array {
  return segmentKey.encode({ partition: 0, sequence });
}

/** Slices as the kernel makes them: any runs, any counts, events of any bytes. */
const slices = fc.array(
  fc.record({
    runNumber: fc.maxSafeNat(),
    firstEventNumber: fc.integer({ min: 1, max: 0xffff_ffff }),
    events: fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 40 },
);

describe("a segment", () => {
  test("gives back what was put in, with the sequence of each slice", () => {
    const builder = new SegmentBuilder();
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 50 }),
        fc.maxSafeNat(),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        slices,
        (firstSequence, timeBaseMs, prevHash, written) => {
          builder.begin(firstSequence, timeBaseMs, prevHash);
          let sequence = firstSequence;
          const expected = written.map(({ runNumber, firstEventNumber, events }) => {
            const bytes = Buffer.concat(events.map((length) => eventBytes(length, 7)));
            const count = events.length;
            // Inside a larger scratch buffer, which is overwritten at once.
            const scratch = Buffer.concat([Buffer.from("before"), bytes, Buffer.from("after")]);
            const place = { byteOffset: 6, byteLength: bytes.byteLength };
            builder.addSlice({ runNumber, firstEventNumber, count, bytes: scratch, ...place });
            scratch.fill(0xee);
            const firstOfSlice = sequence;
            sequence += count;
            return {
              runNumber,
              firstSequence: firstOfSlice,
              timeBaseMs,
              firstEventNumber,
              count,
              bytes,
            };
          });
          const built = builder.finish();
          const segment = readSegment(keyOf(firstSequence), built.value);
          expect([...segment.slices()].map((s) => ({ ...s, bytes: Buffer.from(s.bytes) }))).toEqual(
            expected,
          );
          expect(segment.lastSequence).toBe(sequence - 1);
          expect(segment.sliceCount).toBe(written.length);
          expect(Buffer.from(segment.prevHash)).toEqual(Buffer.from(prevHash));
          expect(Buffer.from(segment.hash)).toEqual(Buffer.from(built.hash));
        },
      ),
    );
  });

  test("has these bytes, and its hash is the SHA-256 of all before it", () => {
    const { value, hash } = sampleSegment(ORIGIN, [3, 4]);
    const hex = Buffer.from(value).toString("hex");
    expect(hex.slice(0, 144)).toBe(
      "50574c53" +
        "00000000" +
        "0000000000000001" +
        "0000018bcfe56800" +
        "00000002" +
        "00000002" +
        "00".repeat(32) +
        "00000034" +
        hex.slice(136, 144),
    );
    expect(hex.slice(144, 248)).toBe(
      "0000000000000003" +
        "00000001" +
        "00000001" +
        "00000006" +
        "050303030303" +
        "0000000000000004" +
        "00000001" +
        "00000001" +
        "00000006" +
        "050404040404",
    );
    const expected = createHash("sha256").update(value.subarray(0, -32)).digest("hex");
    expect(hex.slice(248)).toBe(expected);
    expect(Buffer.from(hash).toString("hex")).toBe(expected);
  });
});

describe("a segment builder", () => {
  test("never changes a segment that it gave out, also after growing", () => {
    const builder = new SegmentBuilder();
    const large = eventBytes(100, 1);
    builder.begin(1, 0, ORIGIN.hash);
    for (let index = 0; index < 2_000; index += 1) {
      builder.addSlice({ runNumber: index, firstEventNumber: 1, count: 1, bytes: large });
    }
    const first = builder.finish();
    const before = Buffer.from(first.value).toString("hex");
    builder.begin(2_001, 0, first.hash);
    builder.addSlice({ runNumber: 9, firstEventNumber: 1, count: 1, bytes: eventBytes(100, 2) });
    builder.finish();
    expect(Buffer.from(first.value).toString("hex")).toBe(before);
    expect(readSegment(keyOf(1), first.value).count).toBe(2_000);
    expect(first.value.buffer.byteLength).toBe(first.value.byteLength);
  });

  test("says before it is finished how many bytes it will have", () => {
    const builder = new SegmentBuilder();
    builder.begin(1, 0, ORIGIN.hash);
    builder.addSlice({ runNumber: 1, firstEventNumber: 1, count: 1, bytes: eventBytes(9, 9) });
    const { byteLength } = builder;
    expect(builder.finish().value.byteLength).toBe(byteLength);
  });

  test.each([
    ["no slice", (b: SegmentBuilder) => b.finish()],
    ["a slice without events", (b: SegmentBuilder) => add(b, { count: 0 })],
    ["more events than bytes", (b: SegmentBuilder) => add(b, { count: 7 })],
    ["a part beyond its bytes", (b: SegmentBuilder) => add(b, { byteOffset: 2, byteLength: 5 })],
    ["a run number that is no safe integer", (b: SegmentBuilder) => add(b, { runNumber: 2 ** 53 })],
    ["sequence 0", (b: SegmentBuilder) => b.begin(0, 0, ORIGIN.hash)],
    ["a time base with a fraction", (b: SegmentBuilder) => b.begin(1, 0.5, ORIGIN.hash)],
    ["a short previous hash", (b: SegmentBuilder) => b.begin(1, 0, new Uint8Array(31))],
  ])("cannot be built with %s", (_what, build) => {
    const builder = new SegmentBuilder();
    builder.begin(1, 0, ORIGIN.hash);
    expect(() => build(builder)).toThrow(StoreWriteInvalid);
  });
});

describe("a damaged segment is refused", () => {
  test("for every single flipped bit, naming its sequence", () => {
    const { value } = sampleSegment(ORIGIN, [3, 4]);
    for (let bit = 0; bit < value.byteLength * 8; bit += 1) {
      expectDamage(() => readSegment(keyOf(1), withFlippedBit(value, bit)), 1);
    }
  });

  test("cut at every length, and with a byte too many", () => {
    const { value } = sampleSegment(ORIGIN, [3, 4]);
    for (let length = 0; length < value.byteLength; length += 1) {
      expectDamage(() => readSegment(keyOf(1), value.subarray(0, length)), 1);
    }
    expectDamage(() => readSegment(keyOf(1), Buffer.concat([value, Buffer.of(0)])), 1);
  });

  test.each([
    ["one event more than its slices hold", 27, 3],
    ["one slice more than it has", 31, 3],
    ["a slice that ends early", 72 + 19, 5],
    ["a slice that holds another count", 72 + 15, 2],
  ])("that says %s, though crc and hash fit", (_what, offset, byte) => {
    const value = Buffer.from(sampleSegment(ORIGIN, [3, 4]).value);
    value[offset] = byte;
    // Sealed anew, by hand: crc32 over all but itself and the hash, then the hash.
    const end = value.byteLength - 32;
    value.writeUInt32BE(crc32(value.subarray(72, end), crc32(value.subarray(0, 68))), 68);
    createHash("sha256").update(value.subarray(0, end)).digest().copy(value, end);
    expect(() => readSegment(keyOf(1), value)).toThrow("do not add up");
  });

  test("by its crc32 before its hash is made", () => {
    const { value } = sampleSegment(ORIGIN, [3]);
    expect(() => readSegment(keyOf(1), withFlippedBit(value, 80 * 8))).toThrow("crc32");
    expect(() => readSegment(keyOf(1), withFlippedBit(value, value.byteLength * 8 - 1))).toThrow(
      "its hash",
    );
  });

  test("under the key of another sequence", () => {
    const { value } = sampleSegment(ORIGIN, [3]);
    expectDamage(() => readSegment(keyOf(2), value), 2);
  });
});

describe("the chain", () => {
  const [first, second, third] = sampleChain(ORIGIN, 3).map((s) =>
    readSegment(keyOf(s.firstSequence), s.value),
  );

  test("links each segment to the one before", () => {
    if (first === undefined || second === undefined) throw new Error("no sample");
    verifyLink(ORIGIN, first);
    verifyLink(chainPointOf(first), second);
  });

  test("refuses a hole, naming the missing sequence", () => {
    if (first === undefined || third === undefined) throw new Error("no sample");
    expectDamage(() => verifyLink(chainPointOf(first), third), 2);
  });

  test("refuses a sound segment of another history", () => {
    const foreign = sampleSegment({ sequence: 1, hash: new Uint8Array(32).fill(1) }, [2]);
    if (first === undefined) throw new Error("no sample");
    const read = readSegment(keyOf(2), foreign.value);
    expectDamage(() => verifyLink(chainPointOf(first), read), 2);
  });
});

function add(builder: SegmentBuilder, change: object): void {
  const slice = { runNumber: 1, firstEventNumber: 1, count: 1, bytes: eventBytes(5, 5) };
  builder.addSlice({ ...slice, ...change });
}

function expectDamage(read: () => unknown, firstBadSequence: number): void {
  expect(read).toThrow(StoreDamaged);
  try {
    read();
  } catch (error) {
    expect(error).toMatchObject({ code: "PAWL_STORE_DAMAGED", firstBadSequence });
  }
}
