import { metaKey, segmentKey } from "@pawl/server/log/key.js";
import { horizonPut } from "@pawl/server/log/meta.js";
import { chainPointOf, readSegment } from "@pawl/server/log/segment.js";
import type { Store } from "@pawl/server/log/store.js";
import { describe, expect, it } from "vitest";
import { testPartition } from "../support/kernel.js";
import { findPlanted } from "./support/planted.js";
import { drawFreezing } from "./support/settings.js";

/** A store that differs in some methods. */
function storeLike(store: Store, parts: Partial<Store>): Store {
  return {
    append: (segments, fence) => store.append(segments, fence),
    putRows: (write, fence) => store.putRows(write, fence),
    get: (key) => store.get(key),
    read: (range) => store.read(range),
    freeBytes: () => store.freeBytes(),
    usedBytes: () => store.usedBytes(),
    compact: (range, fence) => store.compact(range, fence),
    close: () => store.close(),
    ...parts,
  };
}

/** Says that segments are durable when they are only handed over. */
function releasesEarly(store: Store): Store {
  return storeLike(store, {
    append: (segments, fence) => {
      store.append(segments, fence).catch(() => undefined);
      return Promise.resolve();
    },
  });
}

/** Moves the horizon to the end of the log, whatever is in rows. */
function movesHorizonTooFar(store: Store): Store {
  let head = horizonPut(testPartition, { sequence: 0, hash: new Uint8Array(32) });
  const horizonKey = Buffer.from(metaKey.encode({ partition: testPartition, name: "horizon" }));
  return storeLike(store, {
    append: async (segments, fence) => {
      await store.append(segments, fence);
      for (const { firstSequence: sequence, value } of segments) {
        const key = segmentKey.encode({ partition: testPartition, sequence });
        head = horizonPut(testPartition, chainPointOf(readSegment(key, value)));
      }
    },
    putRows: (write, fence) => {
      const puts = write.puts.map((put) => (horizonKey.equals(put.key) ? head : put));
      return store.putRows({ ...write, puts }, fence);
    },
  });
}

describe("the simulator finds", () => {
  it("an answer that leaves before it is durable", async () => {
    const found = await findPlanted({ planted: { wrapStore: releasesEarly } });
    expect(found).toMatch(/left the kernel|was offered|is not durable/);
  });

  it("a horizon that is moved too far", async () => {
    const found = await findPlanted({ planted: { wrapStore: movesHorizonTooFar } });
    expect(found).toMatch(
      /another state|does not start|not at rest|fault of the kernel|is refused/,
    );
  });

  it("a caller that calls after its deadline", async () => {
    const found = await findPlanted({
      planted: { ignoresDeadline: true },
      draw: (seed) => drawFreezing(seed, 5),
      from: 50,
    });
    expect(found).toMatch(/its effect happened \d times/);
  });
});
