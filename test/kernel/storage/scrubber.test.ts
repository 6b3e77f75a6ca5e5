import {
  Scrubber,
  type ScrubFinding,
  type ScrubOptions,
} from "@pawl/server/kernel/storage/scrubber.js";
import { toHex } from "@pawl/server/log/bytes.js";
import { chunkKey, nameKey, runKey, segmentKey } from "@pawl/server/log/key.js";
import { anchorPut } from "@pawl/server/log/meta.js";
import { describe, expect, it } from "vitest";
import { MemoryKernel, testPartition } from "../../support/kernel.js";
import { segmentsOf, start } from "./support/one-run.js";

const partition = testPartition;

/** A kernel with runs r1 to r3 in rows, and a scrubber beside it, wired as a kernel wires it. */
async function scrubbed(options: ScrubOptions = {}): Promise<{
  readonly memory: MemoryKernel;
  readonly scrubber: Scrubber;
  readonly found: ScrubFinding[];
}> {
  const memory = await MemoryKernel.create();
  for (const runId of ["r1", "r2", "r3"]) {
    await start(memory, runId);
  }
  await memory.time.advance(2000);
  const { kernel, time } = memory;
  const found: ScrubFinding[] = [];
  const scrubber = new Scrubber({
    ...{ store: kernel.store, partition, timers: time },
    now: () => kernel.loop.clock.now(),
    durableSequence: () => kernel.loop.durableSequence,
    found: (finding, error) => {
      found.push(finding);
      if (finding.runNumber !== 0) {
        kernel.residency.setAside(finding.runNumber, error);
      }
    },
    options: { firstAfterMs: 1000, ...options },
  });
  scrubber.start();
  return { memory, scrubber, found };
}

const keys = {
  chunk: chunkKey.encode({ partition, runNumber: 2, chunkNumber: 0 }),
  run: runKey.encode({ partition, runNumber: 2 }),
  segment: segmentKey.encode({ partition, sequence: 2 }),
  name: nameKey.encode({ partition, namespace: "default", runId: "r2" }),
} as const;

describe("the scrubber", () => {
  it.each(["chunk", "run"] as const)(
    "finds one turned bit of a %s, and that run alone is refused, also while it is in memory",
    async (kind) => {
      const { memory, scrubber, found } = await scrubbed();
      const { residency } = memory.kernel;
      expect(residency.findRun("default", "r2")).toMatchObject({ number: 2 });
      memory.disk.flipBit(keys[kind], 200);
      await memory.time.advance(10_000);
      expect(found[0]).toMatchObject({ runNumber: 2, key: toHex(keys[kind]) });
      for (const ask of [() => residency.findRun("default", "r2"), () => residency.find(2)]) {
        expect(ask).toThrowError(expect.objectContaining({ code: "PAWL_STORE_DAMAGED" }));
      }
      expect(residency.findRun("default", "r1")).toMatchObject({ number: 1 });
      expect(residency.findRun("default", "r3")).toMatchObject({ number: 3 });
      expect(memory.kernel.failure).toBeUndefined();
      await scrubber.close();
    },
  );

  it("finds one turned bit of a segment by its sequence, and refuses no run for it", async () => {
    const { memory, scrubber, found } = await scrubbed();
    memory.disk.flipBit(keys.segment, 900);
    await memory.time.advance(10_000);
    expect(found[0]).toMatchObject({ stage: "log", runNumber: 0, firstBadSequence: 2 });
    expect(memory.kernel.residency.findRun("default", "r2")).toMatchObject({ number: 2 });
    await scrubber.close();
  });

  it("finds one turned bit of an index row", async () => {
    const { memory, scrubber, found } = await scrubbed();
    memory.disk.flipBit(keys.name, 150);
    await memory.time.advance(10_000);
    expect(found).toMatchObject([{ stage: "rows", runNumber: 0, key: toHex(keys.name) }]);
    await scrubber.close();
  });

  it("finds a sealed chunk that is gone although all links are in order", async () => {
    const { memory, scrubber, found } = await scrubbed();
    await memory.kernel.store.putRows(
      { puts: [], deletes: [keys.chunk], ranges: [] },
      { epoch: 1 },
    );
    await memory.time.advance(10_000);
    expect(found[0]).toMatchObject({ runNumber: 2, key: toHex(keys.chunk) });
    expect(found[0]?.message).toContain("it is missing");
    await scrubber.close();
  });
});

describe("the findings of the scrubber", () => {
  it("tells each finding once, however many rounds it makes", async () => {
    const { memory, scrubber, found } = await scrubbed({ restMs: 1000 });
    memory.disk.flipBit(keys.name, 150);
    await memory.time.advance(60_000);
    expect(scrubber.status.rounds).toBeGreaterThan(5);
    expect(found).toHaveLength(1);
    expect(scrubber.status.findings).toHaveLength(1);
    await scrubber.close();
  });

  it("finds nothing in a sound store while runs come and checkpoints go on", async () => {
    const memory = await MemoryKernel.create({
      beginAgeMs: 20,
    });
    const { kernel, time } = memory;
    const found: ScrubFinding[] = [];
    const scrubber = new Scrubber({
      ...{ store: kernel.store, partition, timers: time },
      now: () => kernel.loop.clock.now(),
      durableSequence: () => kernel.loop.durableSequence,
      found: (finding) => found.push(finding),
      options: { firstAfterMs: 0, restMs: 10, busyEventsPerSecond: Number.POSITIVE_INFINITY },
    });
    scrubber.start();
    for (let index = 0; index < 400; index++) {
      await start(memory, `r${index}`);
      await time.advance(20);
    }
    expect(scrubber.status.rounds).toBeGreaterThan(1);
    expect(found).toEqual([]);
    await scrubber.close();
  });

  it("does not take for damage what is cut off the log while it reads", async () => {
    const { memory, scrubber, found } = await scrubbed({ firstAfterMs: 0 });
    for (let index = 0; index < 20; index++) {
      await start(memory, `more${index}`);
    }
    await memory.time.advance(3000);
    await scrubber.close();
    const { store } = memory.kernel;
    const segments = await segmentsOf(store);
    const cut = segments[8];
    if (cut === undefined) {
      throw new Error("too few segments");
    }
    const again = new Scrubber({
      ...{ store, partition, timers: memory.time, now: () => memory.time.wallMs() },
      durableSequence: () => memory.kernel.loop.durableSequence,
      found: (finding) => found.push(finding),
      options: { firstAfterMs: 0 },
    });
    again.start();
    await memory.time.advance(1);
    expect(again.status.bytes).toBeGreaterThan(0);
    const lt = segmentKey.encode({ partition, sequence: cut.lastSequence + 1 });
    await store.putRows(
      {
        puts: [anchorPut(partition, { sequence: cut.lastSequence, hash: cut.hash })],
        deletes: [],
        ranges: [{ gte: segmentKey.encode({ partition, sequence: 0 }), lt }],
      },
      { epoch: 1 },
    );
    await memory.time.advance(60_000);
    expect(again.status.rounds).toBe(1);
    expect(found).toEqual([]);
    await again.close();
  });
});

describe("the pace of the scrubber", () => {
  it("reads no faster than it may", async () => {
    const { memory, scrubber } = await scrubbed({ bytesPerSecond: 100 });
    await memory.time.advance(1000 + 10_000);
    const { bytes } = scrubber.status;
    expect(bytes).toBeGreaterThan(0);
    // One page may have come before its rest.
    expect(bytes).toBeLessThan(10 * 100 + 4 * 4096);
    expect(scrubber.status.rounds).toBe(0);
    await scrubber.close();
  });

  it("all but stops while the kernel is busy, and goes on afterwards", async () => {
    const { memory, scrubber } = await scrubbed({ busyEventsPerSecond: 20 });
    for (let index = 0; index < 200; index++) {
      await start(memory, `busy${index}`);
      await memory.time.advance(20);
    }
    const { rounds, bytes } = scrubber.status;
    expect(rounds).toBe(0);
    await memory.time.advance(120_000);
    expect(scrubber.status.rounds).toBe(1);
    expect(scrubber.status.bytes).toBeGreaterThan(bytes);
    await scrubber.close();
  });
});
