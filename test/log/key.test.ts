import * as keys from "@pawl/server/log/key.js";
import {
  type InPartition,
  type KeyCodec,
  KINDS,
  keyAfter,
  rangeOfKind,
  rangeOfRun,
} from "@pawl/server/log/key.js";
import type { KeyRange } from "@pawl/server/log/store.js";
import { KeyInvalid, StoreDamaged } from "@pawl/server/log/store-errors.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const partition = fc.integer({ min: 0, max: 0xffff });
const number8 = fc.integer({ min: 0, max: 0xff });
const number32 = fc.integer({ min: 0, max: 0xffff_ffff });
const number64 = fc.maxSafeNat();
const hash32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
// Short, and from few letters: neighbours, prefixes of one another, 0x00 and the highest bytes of UTF-8.
const text = fc.string({
  unit: fc.constantFrom("a", "b", "\u0000", "ÿ", "\u{10ffff}", "\ufeff"),
  maxLength: 4,
});

const inRun = { partition, runNumber: number64, number: number32 };

type Fields = Readonly<Record<string, unknown>>;

/** A codec with its field names erased: the cases are walked, not known one by one. */
interface AnyCodec {
  readonly kind: number;
  encode(key: Fields): Uint8Array;
  decode(bytes: Uint8Array): Fields;
  range(leading: Fields): KeyRange;
}

interface Case {
  readonly name: string;
  readonly codec: AnyCodec;
  readonly fields: Record<string, fc.Arbitrary<unknown>>;
}

// The fields in key order, written here by hand: the codec must order by them.
const cases: readonly Case[] = [
  caseOf("meta", keys.metaKey, { partition, name: text }),
  caseOf("segment", keys.segmentKey, { partition, sequence: number64 }),
  caseOf("run", keys.runKey, { partition, runNumber: number64 }),
  caseOf("task", keys.taskKey, inRun),
  caseOf("operation", keys.operationKey, inRun),
  caseOf("step", keys.stepKey, inRun),
  caseOf("proposal", keys.proposalKey, inRun),
  caseOf("input request", keys.inputRequestKey, inRun),
  caseOf("signal", keys.signalKey, inRun),
  caseOf("review", keys.reviewKey, inRun),
  caseOf("history chunk", keys.chunkKey, { partition, runNumber: number64, chunkNumber: number32 }),
  caseOf("wait", keys.waitKey, inRun),
  caseOf("obligation", keys.obligationKey, inRun),
  caseOf("plan version", keys.planVersionKey, inRun),
  caseOf("name", keys.nameKey, { partition, namespace: text, runId: text }),
  caseOf("visibility", keys.visibilityKey, {
    partition,
    namespace: text,
    field: text,
    value: text,
    runNumber: number64,
    number: number32,
  }),
  caseOf("timer", keys.timerKey, { partition, dueMs: number64, runNumber: number64 }),
  caseOf("ready", keys.readyKey, {
    partition,
    namespace: text,
    queue: text,
    priority: number8,
    sequence: number64,
    runNumber: number64,
    number: number32,
  }),
  caseOf("lease", keys.leaseKey, inRun),
  caseOf("owed", keys.owedKey, inRun),
  caseOf("operation key", keys.operationKeyKey, { partition, namespace: text, keyHash: hash32 }),
  caseOf("blob chunk", keys.blobKey, {
    partition,
    runNumber: number64,
    contentHash: hash32,
    chunkNumber: number32,
  }),
  caseOf("tombstone", keys.tombstoneKey, { partition, namespace: text, runIdHash: hash32 }),
  caseOf("sweep", keys.sweepKey, { partition, runNumber: number64 }),
];

function caseOf<K extends InPartition>(
  name: string,
  codec: KeyCodec<K>,
  fields: { readonly [P in keyof K]: fc.Arbitrary<K[P]> },
): Case {
  return { name, codec: codec as unknown as AnyCodec, fields };
}

/** The order that the table of `key.ts` promises, from the fields alone: numbers by value, text by length first. */
function compareFields(a: Fields, b: Fields, names: readonly string[]): number {
  for (const name of names) {
    const order = compareValues(a[name], b[name]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") {
    const [left, right] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
    return left.length === right.length ? compareLists(left, right) : left.length - right.length;
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareLists(a, b);
  throw new TypeError("two values of different types");
}

function compareLists(a: Uint8Array, b: Uint8Array): number {
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const order = (a[index] ?? 0) - (b[index] ?? 0);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function isIn(
  key: Uint8Array,
  range: { readonly gte: Uint8Array; readonly lt: Uint8Array },
): boolean {
  return compareLists(key, range.gte) >= 0 && compareLists(key, range.lt) < 0;
}

describe.each(cases)("keys of kind $name", (at) => {
  const names = Object.keys(at.fields);
  const key = fc.record(at.fields) as fc.Arbitrary<Fields>;

  test("come back as they went in", () => {
    fc.assert(
      fc.property(key, (k) => {
        expect(at.codec.decode(at.codec.encode(k))).toEqual(k);
      }),
    );
  });

  test("are different for different fields and sort by their fields", () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        const order = compareLists(at.codec.encode(a), at.codec.encode(b));
        expect(Math.sign(order)).toBe(Math.sign(compareFields(a, b, names)));
      }),
    );
  });

  test("lie in the range of their leading fields, and no other key does", () => {
    fc.assert(
      fc.property(key, key, fc.integer({ min: 1, max: names.length }), (a, b, count) => {
        const leadingNames = names.slice(0, count);
        const leading = Object.fromEntries(leadingNames.map((name) => [name, a[name]]));
        const range = at.codec.range(leading);
        expect(isIn(at.codec.encode(a), range)).toBe(true);
        expect(isIn(at.codec.encode(b), range)).toBe(compareFields(a, b, leadingNames) === 0);
      }),
    );
  });

  test("are refused when cut, lengthened or of another kind", () => {
    fc.assert(
      fc.property(key, (k) => {
        const bytes = at.codec.encode(k);
        const other = Uint8Array.from(bytes);
        other[0] = 0x7f;
        for (const bad of [bytes.subarray(0, -1), keyAfter(bytes), other, new Uint8Array()]) {
          expect(() => at.codec.decode(bad)).toThrow(StoreDamaged);
        }
      }),
    );
  });
});

describe("key", () => {
  test("table lists every codec once, in key order", () => {
    expect(KINDS.map((info) => [info.kind, info.name])).toEqual(
      cases.map((at) => [at.codec.kind, at.name]),
    );
    expect(KINDS.map((info) => info.kind)).toEqual([
      0x00, 0x01, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x20,
      0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x30, 0x31, 0x32,
    ]);
  });

  test("has these bytes", () => {
    const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
    expect(hex(keys.segmentKey.encode({ partition: 0, sequence: 101 }))).toBe(
      "0100000000000000000065",
    );
    expect(hex(keys.taskKey.encode({ partition: 1, runNumber: 2 ** 53 - 1, number: 3 }))).toBe(
      "110001001fffffffffffff00000003",
    );
    expect(hex(keys.nameKey.encode({ partition: 0, namespace: "ns", runId: "run1" }))).toBe(
      "20000000026e73000472756e31",
    );
    expect(hex(keys.metaKey.encode({ partition: 0, name: "" }))).toBe("0000000000");
  });

  test("of run 1 is not in the range of run 10, nor of its neighbours", () => {
    const range = rangeOfRun(0x11, { partition: 0, runNumber: 1 });
    const task = (runNumber: number, part = 0): Uint8Array =>
      keys.taskKey.encode({ partition: part, runNumber, number: 0xffff_ffff });
    expect(isIn(task(1), range)).toBe(true);
    for (const runNumber of [0, 2, 10, 256, 257, 65_537])
      expect(isIn(task(runNumber), range)).toBe(false);
    expect(isIn(task(1, 1), range)).toBe(false);
  });

  test("of run id `run1` is not in the range of `run10`, nor the other way round", () => {
    const name = (runId: string): Uint8Array =>
      keys.nameKey.encode({ partition: 0, namespace: "default", runId });
    const range = keys.nameKey.range({ partition: 0, namespace: "default", runId: "run1" });
    expect(isIn(name("run1"), range)).toBe(true);
    for (const id of ["run10", "run", "run1\u0000", "run1ÿ", ""])
      expect(isIn(name(id), range)).toBe(false);
  });

  test("range of a kind ends at the next kind and at the next partition", () => {
    const range = rangeOfKind(0x01, 0xffff);
    expect(Buffer.from(range.lt).toString("hex")).toBe("02");
    expect(isIn(keys.segmentKey.encode({ partition: 0xffff, sequence: 2 ** 53 - 1 }), range)).toBe(
      true,
    );
    expect(isIn(keys.runKey.encode({ partition: 0, runNumber: 0 }), range)).toBe(false);
  });
});

describe("a key is refused for", () => {
  test.each([
    [
      "a lone surrogate",
      () => keys.nameKey.encode({ partition: 0, namespace: "n", runId: "a\ud800" }),
    ],
    [
      "text above 65535 bytes",
      () => keys.metaKey.encode({ partition: 0, name: "é".repeat(32_768) }),
    ],
    ["a negative number", () => keys.runKey.encode({ partition: 0, runNumber: -1 })],
    ["a fraction", () => keys.runKey.encode({ partition: 0, runNumber: 1.5 })],
    ["an unsafe integer", () => keys.runKey.encode({ partition: 0, runNumber: 2 ** 53 })],
    ["a partition above 65535", () => keys.runKey.encode({ partition: 65_536, runNumber: 1 })],
    [
      "a number above 32 bits",
      () => keys.taskKey.encode({ partition: 0, runNumber: 1, number: 2 ** 32 }),
    ],
    [
      "a short hash",
      () =>
        keys.tombstoneKey.encode({ partition: 0, namespace: "n", runIdHash: new Uint8Array(31) }),
    ],
    [
      "a gap in the leading fields",
      () => keys.visibilityKey.range({ partition: 0, field: "status" }),
    ],
  ])("%s", (_what, encode) => {
    expect(encode).toThrow(KeyInvalid);
  });

  test("stored text that is not UTF-8, and a number above 2^53", () => {
    const name = Buffer.from("20000000016e0001ff", "hex");
    const run = Buffer.from("1000000020000000000000", "hex");
    expect(() => keys.nameKey.decode(name)).toThrow(StoreDamaged);
    expect(() => keys.runKey.decode(run)).toThrow(StoreDamaged);
  });
});

test("what is before a key sorts between it and every other key of its length", () => {
  const key = (runNumber: number): Uint8Array => keys.runKey.encode({ partition: 0, runNumber });
  for (const runNumber of [1, 255, 256, 65_536, 2 ** 32, 2 ** 53 - 1]) {
    const before = keys.keyBefore(key(runNumber));
    expect(Buffer.compare(before, key(runNumber))).toBe(-1);
    expect(Buffer.compare(before, key(runNumber - 1))).toBe(1);
  }
  expect(
    Buffer.compare(keys.keyBefore(key(0)), keys.metaKey.encode({ partition: 0, name: "x" })),
  ).toBe(1);
});
