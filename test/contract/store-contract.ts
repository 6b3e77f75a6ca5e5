/** What every `Store` must do. Run on each implementation by a test of its own. */

import type { FaultPlan } from "@pawl/server/log/fault-plan.js";
import { failNth } from "@pawl/server/log/fault-plan.js";
import { rangeOfKind, runKey, segmentKey, taskKey } from "@pawl/server/log/key.js";
import type { RowPut, Store } from "@pawl/server/log/store.js";
import { RANGE_KEYS_MAX } from "@pawl/server/log/store.js";
import { readPages, splitRange } from "@pawl/server/log/store-scan.js";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** One place that keeps bytes; `open` may be called again when the last handle is closed. */
export interface StoreSubject {
  open(options?: OpenOptions): Promise<Store>;
  /** Releases and removes all. */
  dispose(): Promise<void>;
}

/** As the implementations take them. */
export interface OpenOptions {
  readonly epoch?: number;
  readonly faults?: FaultPlan;
}

/** Registers the suite. `make` gives an empty place for every test. */
export function describeStoreContract(name: string, make: () => Promise<StoreSubject>): void {
  const place = new Place(make);
  beforeEach(() => place.set());
  afterEach(() => place.clear());
  describe(`${name}: rows`, () => testRows(place));
  describe(`${name}: ranges of rows`, () => testRanges(place));
  describe(`${name}: room of removed rows`, () => testRoom(place));
  describe(`${name}: any rows`, () => testModel(place));
  describe(`${name}: segments`, () => testSegments(place));
  describe(`${name}: a closed handle`, () => testClosed(place));
  describe(`${name}: a failed handle`, () => testFailed(place));
}

const fence = { epoch: 0 };
const none = { puts: [], deletes: [], ranges: [] };

/** The subject of the running test and the handle it opened last. */
class Place {
  readonly #make: () => Promise<StoreSubject>;
  #subject: StoreSubject | undefined;
  #store: Store | undefined;

  constructor(make: () => Promise<StoreSubject>) {
    this.#make = make;
  }

  async set(): Promise<void> {
    this.#subject = await this.#make();
  }

  async clear(): Promise<void> {
    await this.#store?.close();
    await this.#subject?.dispose();
    this.#store = undefined;
    this.#subject = undefined;
  }

  /** Closes the last handle, if any, and opens the next. */
  async open(options: OpenOptions = {}): Promise<Store> {
    if (this.#subject === undefined) throw new Error("no subject");
    await this.#store?.close();
    this.#store = await this.#subject.open(options);
    return this.#store;
  }
}

function testRows(place: Place): void {
  test("are found by key, replaced, removed, and absent otherwise", async () => {
    const store = await place.open();
    await store.putRows({ ...none, puts: [row(1, "a"), row(2, "b")] }, fence);
    expect(textAt(store, 1)).toBe("a");
    expect(textAt(store, 3)).toBeUndefined();
    await store.putRows({ ...none, puts: [row(1, "c")], deletes: [keyOf(2), keyOf(9)] }, fence);
    expect(textAt(store, 1)).toBe("c");
    expect(textAt(store, 2)).toBeUndefined();
  });

  test("of an empty value are not absent", async () => {
    const store = await place.open();
    await store.putRows({ ...none, puts: [row(1, "")] }, fence);
    expect(textAt(store, 1)).toBe("");
    expect(await textsIn(store)).toEqual(["1:"]);
  });

  test("survive a new handle", async () => {
    const first = await place.open();
    await first.putRows({ ...none, puts: [row(1, "a")] }, fence);
    const second = await place.open();
    expect(textAt(second, 1)).toBe("a");
  });

  test("hold the bytes they were given, whatever the caller does with its buffers", async () => {
    const store = await place.open();
    const key = keyOf(1);
    const value = Buffer.from("kept");
    const written = store.putRows(
      { puts: [{ key, value }], deletes: [], ranges: [rangeOfKind(runKey.kind, 0)] },
      fence,
    );
    key.fill(0xee);
    value.fill(0xee);
    await written;
    expect(textAt(store, 1)).toBe("kept");
    store.get(keyOf(1))?.fill(0xee);
    expect(textAt(store, 1)).toBe("kept");
  });
}

function testRanges(place: Place): void {
  test("come in key order, in pages, forwards and backwards", async () => {
    const store = await place.open();
    const numbers = [9, 10, 255, 256, 65_536, 1, 2];
    await store.putRows({ ...none, puts: numbers.map((number) => row(number, "")) }, fence);
    const range = rangeOfKind(runKey.kind, 0);
    const numbersOf = (rows: readonly RowPut[]): number[] =>
      rows.map(({ key }) => runKey.decode(key).runNumber);
    expect(numbersOf(await store.read(range))).toEqual([1, 2, 9, 10, 255, 256, 65_536]);
    expect(numbersOf(await store.read({ ...range, limit: 3 }))).toEqual([1, 2, 9]);
    expect(numbersOf(await store.read({ ...range, limit: 2, reverse: true }))).toEqual([
      65_536, 256,
    ]);
    expect(numbersOf(await store.read({ gte: keyOf(2), lt: keyOf(10) }))).toEqual([2, 9]);
    expect(numbersOf(await store.read({ gte: keyOf(10), lt: keyOf(2) }))).toEqual([]);
    const pages: number[][] = [];
    for await (const page of readPages(store, range, 3)) pages.push(numbersOf(page));
    expect(pages).toEqual([[1, 2, 9], [10, 255, 256], [65_536]]);
  });

  test("of a range go, its neighbours stay, and a put inside it stays", async () => {
    const store = await place.open();
    const task = (runNumber: number, number: number): RowPut => ({
      key: taskKey.encode({ partition: 0, runNumber, number }),
      value: new Uint8Array(),
    });
    const puts = [task(1, 0), task(1, 0xffff_ffff), task(10, 0), task(2, 0), task(0, 7)];
    await store.putRows({ ...none, puts }, fence);
    const ranges = [taskKey.range({ partition: 0, runNumber: 1 })];
    await store.putRows({ ranges, deletes: [task(10, 0).key], puts: [task(1, 5)] }, fence);
    const left = (await store.read(rangeOfKind(taskKey.kind, 0))).map(({ key }) => {
      const { runNumber, number } = taskKey.decode(key);
      return [runNumber, number];
    });
    expect(left).toEqual([
      [0, 7],
      [1, 5],
      [2, 0],
    ]);
  });

  test("of a range that is too large are refused whole, and go in parts", async () => {
    const store = await place.open();
    const puts = Array.from({ length: RANGE_KEYS_MAX + 1 }, (_, index) => row(index, ""));
    await store.putRows({ ...none, puts }, fence);
    const range = rangeOfKind(runKey.kind, 0);
    await expect(store.putRows({ ...none, ranges: [range] }, fence)).rejects.toMatchObject({
      code: "PAWL_STORE_WRITE_INVALID",
    });
    expect(await store.read({ ...range, limit: 1 })).toHaveLength(1);
    let parts = 0;
    for await (const part of splitRange(store, range, 10_000)) {
      await store.putRows({ ...none, ranges: [part] }, fence);
      parts += 1;
    }
    expect(parts).toBe(3);
    expect(await store.read(range)).toEqual([]);
  });
}

function testRoom(place: Place): void {
  const value = Buffer.alloc(64 * 1024);
  fc.sample(fc.uint8Array({ minLength: 64, maxLength: 64 }), 1024).forEach((part, at) => {
    value.set(part, at * 64);
  });
  const many = Array.from({ length: 100 }, (_, at) => ({ key: keyOf(at), value }));

  test("is taken up until it is given back, and no row changes", async () => {
    const store = await place.open();
    const empty = await store.usedBytes();
    await store.putRows({ ...none, puts: [...many, row(100, "a"), row(1_000, "z")] }, fence);
    expect((await store.usedBytes()) - empty).toBeGreaterThan(6_000_000);
    const range = { gte: keyOf(0), lt: keyOf(100) };
    await store.putRows({ ...none, ranges: [range] }, fence);
    await store.compact(range, fence);
    expect((await store.usedBytes()) - empty).toBeLessThan(1_000_000);
    expect(await textsIn(store)).toEqual(["100:a", "1000:z"]);
    const again = await place.open();
    expect(await textsIn(again)).toEqual(["100:a", "1000:z"]);
  });

  test("is not given back for rows that are there, at both ends of the range neither", async () => {
    const store = await place.open();
    await store.putRows({ ...none, puts: [row(1, "a"), row(2, "b"), row(3, "c")] }, fence);
    await store.compact({ gte: keyOf(1), lt: keyOf(3) }, fence);
    expect(await textsIn(store)).toEqual(["1:a", "2:b", "3:c"]);
  });

  test("is given back beside writes", async () => {
    const store = await place.open();
    await store.putRows({ ...none, puts: many }, fence);
    const range = { gte: keyOf(0), lt: keyOf(100) };
    await store.putRows({ ...none, ranges: [range] }, fence);
    const compacted = store.compact(range, fence);
    await store.append([segment(1, "a")], fence);
    await store.putRows({ ...none, puts: [row(200, "b")] }, fence);
    await compacted;
    expect(await textsIn(store)).toEqual(["200:b"]);
  });

  test("is not given back by an older epoch", async () => {
    const store = await place.open({ epoch: 2 });
    await expect(store.compact({ gte: keyOf(0), lt: keyOf(1) }, { epoch: 1 })).rejects.toThrow(
      expect.objectContaining({ code: "PAWL_STORE_FENCED" }),
    );
  });
}

function testModel(place: Place): void {
  test("read as a sorted map does, whatever was written", async () => {
    const store = await place.open();
    const model = new Map<number, string>();
    const number = fc.integer({ min: 0, max: 300 });
    const write = fc.record({
      puts: fc.array(fc.tuple(number, fc.string({ maxLength: 3 }))),
      deletes: fc.array(number),
      ranges: fc.array(fc.tuple(number, number), { maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(write, async ({ puts, deletes, ranges }) => {
        await store.putRows(
          {
            puts: puts.map(([n, value]) => row(n, value)),
            deletes: deletes.map(keyOf),
            ranges: ranges.map(([from, to]) => ({ gte: keyOf(from), lt: keyOf(to) })),
          },
          fence,
        );
        const isRemoved = (n: number): boolean =>
          deletes.includes(n) || ranges.some(([from, to]) => n >= from && n < to);
        for (const n of [...model.keys()].filter(isRemoved)) model.delete(n);
        for (const [n, value] of puts) model.set(n, value);
        const expected = [...model].sort(([a], [b]) => a - b).map(([n, value]) => `${n}:${value}`);
        expect(await textsIn(store)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
}

function testSegments(place: Place): void {
  test("are found by sequence, and survive a new handle", async () => {
    const first = await place.open();
    await first.append([segment(1, "a"), segment(4, "b")], fence);
    await first.append([segment(5, "c")], fence);
    const second = await place.open();
    const rows = await second.read(rangeOfKind(segmentKey.kind, 0));
    expect(rows.map(({ key, value }) => [segmentKey.decode(key).sequence, textOf(value)])).toEqual([
      [1, "a"],
      [4, "b"],
      [5, "c"],
    ]);
  });

  test.each([
    ["the same sequence", [5]],
    ["a lower one", [4]],
    ["one batch out of order", [7, 6]],
    ["no integer", [6.5]],
  ])("are refused with %s, and nothing is written", async (_what, sequences) => {
    const first = await place.open();
    await first.append([segment(5, "kept")], fence);
    const store = await place.open();
    const appended = store.append(
      sequences.map((sequence) => segment(sequence, "new")),
      fence,
    );
    await expect(appended).rejects.toMatchObject({ code: "PAWL_STORE_WRITE_INVALID" });
    const rows = await store.read(rangeOfKind(segmentKey.kind, 0));
    expect(rows.map(({ value }) => textOf(value))).toEqual(["kept"]);
  });

  test("and rows may be written at once", async () => {
    const store = await place.open();
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => [
        store.append([segment(index + 1, "s")], fence),
        store.putRows({ ...none, puts: [row(index, "r")] }, fence),
      ]).flat(),
    );
    expect(await store.read(rangeOfKind(segmentKey.kind, 0))).toHaveLength(20);
    expect(await store.read(rangeOfKind(runKey.kind, 0))).toHaveLength(20);
  });

  test("and rows of an older epoch are refused, and nothing is written", async () => {
    const store = await place.open({ epoch: 3 });
    await store.append([segment(1, "a")], { epoch: 4 });
    const fenced = { code: "PAWL_STORE_FENCED", epoch: 3, currentEpoch: 4 };
    await expect(store.append([segment(2, "b")], { epoch: 3 })).rejects.toMatchObject(fenced);
    const put = store.putRows({ ...none, puts: [row(1, "")] }, { epoch: 3 });
    await expect(put).rejects.toMatchObject(fenced);
    expect(await store.read(rangeOfKind(segmentKey.kind, 0))).toHaveLength(1);
    expect(textAt(store, 1)).toBeUndefined();
    await store.append([segment(2, "b")], { epoch: 4 });
  });
}

function testClosed(place: Place): void {
  test("refuses every call, and may be closed again", async () => {
    const store = await place.open();
    await store.close();
    await expectAllRefused(store, "PAWL_STORE_CLOSED");
    await store.close();
  });

  test("was closed only when what was under way had ended", async () => {
    const store = await place.open();
    const ended: string[] = [];
    const writes = [
      store.append([segment(1, "a")], fence).then(() => ended.push("append")),
      store.putRows({ ...none, puts: [row(1, "x")] }, fence).then(() => ended.push("putRows")),
      store.read(rangeOfKind(runKey.kind, 0)).then(() => ended.push("read")),
    ];
    await store.close();
    await Promise.all(writes);
    expect(ended.sort()).toEqual(["append", "putRows", "read"]);
    const next = await place.open();
    expect(textAt(next, 1)).toBe("x");
  });
}

function testFailed(place: Place): void {
  test.each(["append", "putRows", "get", "read"] as const)(
    "refuses every call after a failed %s, with the first cause",
    async (verb) => {
      const store = await place.open({ faults: failNth(verb, 1, "fail") });
      await expect(callOf(store, verb)).rejects.toMatchObject({
        code: "PAWL_STORE_FAILED",
        outcome: "unknown",
        cause: { code: "EIO" },
      });
      await expectAllRefused(store, "PAWL_STORE_FAILED");
    },
  );

  test.each([
    ["fail", undefined, "EIO"],
    ["enospc", undefined, "ENOSPC"],
    ["unknown-lost", undefined, "EIO"],
    ["unknown-kept", "new", "EIO"],
  ] as const)("by %s leaves what it should for the next one", async (fault, found, code) => {
    const store = await place.open({ faults: failNth("putRows", 2, fault) });
    await store.putRows({ ...none, puts: [row(1, "old")] }, fence);
    const write = store.putRows({ ...none, puts: [row(2, "new")] }, fence);
    await expect(write).rejects.toMatchObject({ code: "PAWL_STORE_FAILED", cause: { code } });
    const next = await place.open();
    expect(textAt(next, 1)).toBe("old");
    expect(textAt(next, 2)).toBe(found);
  });

  test("acknowledges nothing that was under way when it failed", async () => {
    const store = await place.open({ faults: failNth("append", 1, "enospc") });
    const row1 = store.putRows({ ...none, puts: [row(1, "")] }, fence);
    const refused = store.append([segment(1, "a")], fence);
    const results = await Promise.allSettled([row1, refused]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });
}

async function expectAllRefused(store: Store, code: string): Promise<void> {
  for (const verb of [
    "append",
    "putRows",
    "get",
    "read",
    "freeBytes",
    "usedBytes",
    "compact",
  ] as const) {
    await expect(callOf(store, verb)).rejects.toMatchObject({ code });
  }
}

async function callOf(
  store: Store,
  verb: "append" | "putRows" | "get" | "read" | "freeBytes" | "usedBytes" | "compact",
): Promise<unknown> {
  if (verb === "append") return store.append([segment(1_000, "a")], fence);
  if (verb === "putRows") return store.putRows({ ...none, puts: [row(1, "")] }, fence);
  if (verb === "get") return store.get(keyOf(1));
  if (verb === "read") return store.read(rangeOfKind(runKey.kind, 0));
  if (verb === "compact") return store.compact(rangeOfKind(runKey.kind, 0), fence);
  return verb === "usedBytes" ? store.usedBytes() : store.freeBytes();
}

function keyOf(runNumber: number): Uint8Array {
  return runKey.encode({ partition: 0, runNumber });
}

function row(runNumber: number, value: string): RowPut {
  return { key: keyOf(runNumber), value: Buffer.from(value) };
}

function segment(
  firstSequence: number,
  value: string,
): { readonly firstSequence: number; readonly value: Uint8Array } {
  return { firstSequence, value: Buffer.from(value) };
}

function textOf(value: Uint8Array): string {
  return Buffer.from(value).toString();
}

function textAt(store: Store, runNumber: number): string | undefined {
  const value = store.get(keyOf(runNumber));
  return value === undefined ? undefined : textOf(value);
}

async function textsIn(store: Store): Promise<string[]> {
  const rows = await store.read(rangeOfKind(runKey.kind, 0));
  return rows.map(({ key, value }) => `${runKey.decode(key).runNumber}:${textOf(value)}`);
}
