import { createHash } from "node:crypto";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import {
  anchorPut,
  chainOrigin,
  countersPut,
  genesisPuts,
  horizonPut,
  identityPut,
  readMeta,
} from "@pawl/server/log/meta.js";
import type { RowPut, Store } from "@pawl/server/log/store.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const storeId = "01234567-89ab-4def-8123-456789abcdef";
const identity = { format: 0, storeId, epoch: 1, createdAtMs: 1_700_000_000_000 };

async function storeWith(puts: readonly RowPut[]): Promise<Store> {
  const store = new MemoryDisk().open();
  await store.putRows({ puts, deletes: [], ranges: [] }, { epoch: 0 });
  return store;
}

describe("the meta rows", () => {
  test("of a new store name it, and its chain begins at a hash of its id", async () => {
    const meta = readMeta(await storeWith(genesisPuts(0, identity)), 0);
    const hash = createHash("sha256").update("pawl.chain.v1\u0000").update(storeId).digest();
    const origin = { sequence: 0, hash: Uint8Array.from(hash) };
    expect(meta).toEqual({ identity, horizon: origin, anchor: origin, counters: {} });
  });

  test("give back what was put in", async () => {
    const point = fc.record({
      sequence: fc.maxSafeNat(),
      hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    });
    const counters = fc.dictionary(fc.string({ unit: "grapheme", maxLength: 8 }), fc.maxSafeNat());
    await fc.assert(
      fc.asyncProperty(point, point, counters, async (horizon, anchor, counts) => {
        const store = await storeWith([
          identityPut(3, { ...identity, epoch: 7 }),
          horizonPut(3, horizon),
          anchorPut(3, anchor),
          countersPut(3, counts),
        ]);
        const meta = readMeta(store, 3);
        expect(meta).toMatchObject({ identity: { ...identity, epoch: 7 }, horizon, anchor });
        expect(Object.entries(meta.counters).sort()).toEqual(Object.entries(counts).sort());
      }),
    );
  });

  test.each([0, 1, 2, 3])("are refused by name when row %i is missing", async (missing) => {
    const store = await storeWith(genesisPuts(0, identity).filter((_, index) => index !== missing));
    const name = ["store", "horizon", "anchor", "counters"][missing];
    expect(() => readMeta(store, 0)).toThrow(`Expected the meta row "${name}", but it is missing`);
  });

  test("take a lower-case UUID only, and counters that are safe integers", () => {
    for (const bad of [storeId.toUpperCase(), storeId.replaceAll("-", ""), "", `${storeId}0`]) {
      expect(() => identityPut(0, { ...identity, storeId: bad })).toThrow("lower-case UUID");
    }
    for (const bad of [-1, 0.5, 2 ** 53]) {
      expect(() => countersPut(0, { runs: bad })).toThrow("safe integer");
    }
  });

  test("of two stores begin two chains", () => {
    expect(chainOrigin(storeId).hash).not.toEqual(chainOrigin(`1${storeId.slice(1)}`).hash);
  });
});
