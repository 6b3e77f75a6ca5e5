import { create, toBinary } from "@bufbuild/protobuf";
import { CheckpointSealedSchema, EventSchema } from "@pawl/proto/log/v1/event_pb.js";
import { buildChunk, CHUNK_ORIGIN, readChunk } from "@pawl/server/log/chunk.js";
import { chunkKey, nameKey, runKey, segmentKey, visibilityKey } from "@pawl/server/log/key.js";
import { readLog, verifyHorizon } from "@pawl/server/log/log-reader.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { genesisPuts, readMeta, type StoreMeta } from "@pawl/server/log/meta.js";
import { writeRow } from "@pawl/server/log/row.js";
import { chainPointOf, SegmentBuilder } from "@pawl/server/log/segment.js";
import type { RowPut, Store } from "@pawl/server/log/store.js";
import { StoreDamaged } from "@pawl/server/log/store-errors.js";
import { type VerifyReport, verifyLog } from "@pawl/server/log/verify-log.js";
import { describe, expect, test } from "vitest";
import { eventBytes, type SampleSegment, sampleChain } from "./log-samples.js";

const fence = { epoch: 1 };
const identity = {
  format: 0,
  storeId: "01234567-89ab-4def-8123-456789abcdef",
  epoch: 1,
  createdAtMs: 0,
};

interface Sample {
  readonly disk: MemoryDisk;
  readonly store: Store;
  readonly meta: StoreMeta;
  readonly chain: readonly SampleSegment[];
}

/** A store of 40 segments, two runs of two chunks, and rows. */
async function makeSample(): Promise<Sample> {
  const disk = new MemoryDisk();
  const store = disk.open();
  const put = (puts: readonly RowPut[]): Promise<void> =>
    store.putRows({ puts, deletes: [], ranges: [] }, fence);
  await put(genesisPuts(0, identity));
  const meta = readMeta(store, 0);
  const chain = sampleChain(meta.anchor, 40);
  await store.append(chain, fence);
  for (const runNumber of [1, 2]) await put(chunksOf(runNumber));
  await put(rowsOf(1));
  return { disk, store, meta, chain };
}

function chunksOf(runNumber: number): readonly RowPut[] {
  let prevHash = CHUNK_ORIGIN.hash;
  return [0, 1].map((chunkNumber) => {
    const slice = { firstSequence: 1, timeBaseMs: 0, count: 1, bytes: eventBytes(5, 5) };
    const slices = [{ ...slice, firstEventNumber: chunkNumber + 1 }];
    const { value, hash } = buildChunk({ runNumber, chunkNumber, prevHash, slices });
    prevHash = hash;
    return { key: chunkKey.encode({ partition: 0, runNumber, chunkNumber }), value };
  });
}

function rowsOf(runNumber: number): readonly RowPut[] {
  const row = { schemaVersion: 1, asOfEvent: 1, asOfSequence: 1, payload: Uint8Array.of(1) };
  const run = runKey.encode({ partition: 0, runNumber });
  const name = nameKey.encode({ partition: 0, namespace: "default", runId: "a" });
  return [
    { key: run, value: writeRow(run, row) },
    { key: name, value: writeRow(name, row) },
    { key: visibilityOf(runNumber), value: new Uint8Array() },
  ];
}

function visibilityOf(runNumber: number): Uint8Array {
  const of = { partition: 0, namespace: "default", field: "state", value: "RUNNING" };
  return visibilityKey.encode({ ...of, runNumber, number: 0 });
}

function segmentAt(sequence: number): Uint8Array {
  return segmentKey.encode({ partition: 0, sequence });
}

async function reportsOf(sample: Sample): Promise<VerifyReport[]> {
  const reports: VerifyReport[] = [];
  for await (const report of verifyLog(sample.store, { partition: 0, meta: sample.meta })) {
    reports.push(report);
  }
  return reports;
}

async function problemsOf(sample: Sample): Promise<object[]> {
  return (await reportsOf(sample)).filter(({ kind }) => kind === "problem");
}

function remove(sample: Sample, key: Uint8Array): Promise<void> {
  return sample.store.putRows({ puts: [], deletes: [key], ranges: [] }, fence);
}

describe("verifying a store", () => {
  test("that is whole finds no problem, and counts what it saw", async () => {
    const sample = await makeSample();
    const reports = await reportsOf(sample);
    expect(reports.at(-1)).toMatchObject({
      kind: "done",
      problems: 0,
      isComplete: true,
      counts: { segments: 40, events: 40, chunks: 4, rows: 7 },
      head: { sequence: 40, hash: sample.chain.at(-1)?.hash },
    });
    expect(reports.filter(({ kind }) => kind === "progress").length).toBeGreaterThan(3);
  });

  test("shows all that is sound to the visitor, and reports what the visitor refuses", async () => {
    const { store, meta } = await makeSample();
    const seen: string[] = [];
    const visitor = {
      segment: ({ firstSequence }: { firstSequence: number }) => {
        if (firstSequence === 7)
          throw new StoreDamaged("Expected another event", { firstBadSequence: 7 });
      },
      chunk: (chunk: { runNumber: number; chunkNumber: number }) => {
        seen.push(`${chunk.runNumber}/${chunk.chunkNumber}`);
      },
      row: (_row: RowPut, { name }: { name: string }) => {
        if (name !== "meta") seen.push(name);
      },
    };
    const problems: VerifyReport[] = [];
    for await (const report of verifyLog(store, { partition: 0, meta, visitor })) {
      if (report.kind === "problem") problems.push(report);
    }
    expect(seen).toEqual(["1/0", "1/1", "2/0", "2/1", "run", "name", "visibility"]);
    expect(problems).toMatchObject([{ stage: "log", firstBadSequence: 7 }]);
  });

  test("names the first bad sequence of a hole, and goes on behind it", async () => {
    const sample = await makeSample();
    await remove(sample, segmentAt(10));
    await remove(sample, segmentAt(30));
    expect(await problemsOf(sample)).toMatchObject([
      { stage: "log", firstBadSequence: 10 },
      { stage: "log", firstBadSequence: 30 },
    ]);
  });

  test("names a segment with a flipped bit, once", async () => {
    const sample = await makeSample();
    sample.disk.flipBit(segmentAt(20), 700);
    expect(await problemsOf(sample)).toMatchObject([{ stage: "log", firstBadSequence: 20 }]);
  });

  test("finds a log that begins behind its anchor or ends before its horizon", async () => {
    const sample = await makeSample();
    await remove(sample, segmentAt(1));
    const horizon = { sequence: 41, hash: new Uint8Array(32) };
    const problems = await problemsOf({ ...sample, meta: { ...sample.meta, horizon } });
    expect(problems).toMatchObject([{ firstBadSequence: 1 }, { firstBadSequence: 41 }]);
  });

  test("finds a horizon with another hash", async () => {
    const sample = await makeSample();
    const horizon = { sequence: 5, hash: new Uint8Array(32) };
    const problems = await problemsOf({ ...sample, meta: { ...sample.meta, horizon } });
    expect(problems).toMatchObject([{ stage: "log", firstBadSequence: 5 }]);
  });
});

describe("verifying chunks and rows", () => {
  test("finds a missing and a damaged chunk", async () => {
    const sample = await makeSample();
    const keyOf = (runNumber: number, chunkNumber: number): Uint8Array =>
      chunkKey.encode({ partition: 0, runNumber, chunkNumber });
    await remove(sample, keyOf(1, 0));
    sample.disk.flipBit(keyOf(2, 1), 640);
    const problems = await problemsOf(sample);
    expect(problems).toMatchObject([
      { stage: "history", key: Buffer.from(keyOf(1, 1)).toString("hex") },
      { stage: "history", key: Buffer.from(keyOf(2, 1)).toString("hex") },
    ]);
  });

  test("finds a damaged row, a value where none belongs, and a row of no known kind", async () => {
    const sample = await makeSample();
    const run = runKey.encode({ partition: 0, runNumber: 1 });
    sample.disk.flipBit(run, 3);
    const odd = Uint8Array.of(0x7e, 0, 0, 1);
    const puts = [
      { key: visibilityOf(1), value: Uint8Array.of(1) },
      { key: odd, value: new Uint8Array() },
    ];
    await sample.store.putRows({ puts, deletes: [], ranges: [] }, fence);
    expect(await problemsOf(sample)).toMatchObject([
      { stage: "rows", key: Buffer.from(run).toString("hex") },
      { stage: "rows", key: Buffer.from(visibilityOf(1)).toString("hex") },
      { stage: "rows", key: "7e000001" },
    ]);
  });
});

describe("verifying seals", () => {
  /** A segment of run 0 whose one event seals chunk 0 of run 1 with this hash. */
  async function seal(sample: Sample, hash: Uint8Array, chunk = 0): Promise<void> {
    const value = create(CheckpointSealedSchema, { chunks: [{ run: 1, chunk, hash }] });
    const body = { case: "checkpointSealed" as const, value };
    const event = toBinary(EventSchema, create(EventSchema, { body }));
    const builder = new SegmentBuilder();
    builder.begin(41, 0, sample.chain.at(-1)?.hash ?? new Uint8Array());
    const bytes = Uint8Array.of(event.byteLength, ...event);
    builder.addSlice({ runNumber: 0, firstEventNumber: 1, count: 1, bytes });
    await sample.store.append([{ firstSequence: 41, value: builder.finish().value }], fence);
  }

  const key = chunkKey.encode({ partition: 0, runNumber: 1, chunkNumber: 0 });

  test("finds the sealed chunk", async () => {
    const sample = await makeSample();
    await seal(sample, readChunk(key, sample.store.get(key) ?? new Uint8Array()).hash);
    expect(await problemsOf(sample)).toEqual([]);
  });

  test("refuses another chunk in its place, sound as it is, and a missing one", async () => {
    const replaced = await makeSample();
    await seal(replaced, new Uint8Array(32));
    expect(await problemsOf(replaced)).toMatchObject([
      { stage: "log", key: Buffer.from(key).toString("hex") },
    ]);
    const missing = await makeSample();
    await seal(missing, new Uint8Array(32), 7);
    expect(await problemsOf(missing)).toMatchObject([
      { stage: "history", message: expect.stringContaining("it is missing") },
    ]);
  });
});

describe("reading the log", () => {
  test("gives the segments behind a point, linked", async () => {
    const { store, meta, chain } = await makeSample();
    const sequences: number[] = [];
    for await (const { firstSequence } of readLog(store, { partition: 0, after: meta.anchor })) {
      sequences.push(firstSequence);
    }
    expect(sequences).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    const after = chain[37]?.end ?? meta.anchor;
    const tail: number[] = [];
    for await (const segment of readLog(store, { partition: 0, after })) {
      tail.push(chainPointOf(segment).sequence);
    }
    expect(tail).toEqual([39, 40]);
  });

  test("stops at a hole, having given what is before it", async () => {
    const sample = await makeSample();
    await remove(sample, segmentAt(3));
    const given: number[] = [];
    const reading = (async () => {
      const log = readLog(sample.store, { partition: 0, after: sample.meta.anchor });
      for await (const { firstSequence } of log) given.push(firstSequence);
    })();
    await expect(reading).rejects.toMatchObject({
      code: "PAWL_STORE_DAMAGED",
      firstBadSequence: 3,
    });
    expect(given).toEqual([1, 2]);
  });
});

describe("the horizon is refused", () => {
  test.each([
    ["behind the head", () => ({ sequence: 41, hash: new Uint8Array(32) }), 41],
    ["with another hash", () => ({ sequence: 40, hash: new Uint8Array(32) }), 40],
  ])("%s", async (_what, horizonOf, firstBadSequence) => {
    const { store, meta } = await makeSample();
    const verified = verifyHorizon(store, 0, { ...meta, horizon: horizonOf() });
    await expect(verified).rejects.toMatchObject({ code: "PAWL_STORE_DAMAGED", firstBadSequence });
  });

  test("before the anchor", async () => {
    const { store, meta, chain } = await makeSample();
    const anchor = chain[5]?.end ?? meta.anchor;
    await expect(verifyHorizon(store, 0, { ...meta, anchor })).rejects.toMatchObject({
      code: "PAWL_STORE_DAMAGED",
    });
  });

  test("unless the log holds it, or is trimmed up to it", async () => {
    const sample = await makeSample();
    const { store, meta, chain } = sample;
    for (const { end } of chain) await verifyHorizon(store, 0, { ...meta, horizon: end });
    const all = segmentKey.range({ partition: 0 });
    await store.putRows({ puts: [], deletes: [], ranges: [all] }, fence);
    const end = chain.at(-1)?.end ?? meta.anchor;
    await verifyHorizon(store, 0, { anchor: end, horizon: end });
  });
});
