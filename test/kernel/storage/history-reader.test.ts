import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import { CHUNK_EVENTS_MAX } from "@pawl/server/log/chunk.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startRun } from "../../core/support/commands.js";
import { MemoryKernel } from "../../support/kernel.js";
import { giveBack, lease, onePlan, runOf, start } from "./support/one-run.js";

async function pagesOf(memory: MemoryKernel, number: number, from = 1): Promise<StoredEvent[][]> {
  const pages: StoredEvent[][] = [];
  for await (const page of memory.kernel.history.read(number, from)) {
    pages.push(page.map(({ event }) => event));
  }
  return pages;
}

/** Has a run leased and given back again, so many times: two events each. */
async function repeat(memory: MemoryKernel, runId: string, times: number): Promise<void> {
  for (let version = 1; version <= times; version++) {
    await lease(memory, runId);
    await giveBack(memory, runId, { version });
  }
}

describe("the history of a run", () => {
  it("is the same wherever its events lie, from any event on", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(2), { maxLength: 12 }),
        fc.integer({ min: 1, max: 20 }),
        async (saves, from) => {
          const memory = await MemoryKernel.create();
          const number = await start(memory, "r1");
          for (const [index, save] of saves.entries()) {
            await lease(memory, "r1");
            await giveBack(memory, "r1", { version: index + 1 });
            if (save === 1) {
              await memory.time.advance(2000);
            } else if (save === 2) {
              memory.powerCut();
              await memory.open();
              await memory.time.settle();
            }
          }
          const events = (await pagesOf(memory, number, from)).flat();
          const expected = Array.from({ length: saves.length * 2 + 1 }, (_, at) => at + 1);
          expect(events.map((event) => event.number)).toEqual(
            expected.filter((one) => one >= from),
          );
          const cases = ["runStarted", ...saves.flatMap(() => ["taskLeased", "leaseEnded"])];
          expect(events.map(({ body }) => body.case)).toEqual(cases.slice(from - 1));
          const sequences = events.map(({ sequence }) => sequence);
          expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("a part of the history of a run", () => {
  it("is sought by a place in the log: no chunk before that place is read for its events", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1");
    await repeat(memory, "r1", 700);
    await memory.time.advance(5000);
    await lease(memory, "r1");
    const { history, store } = memory.kernel;
    const all = (await pagesOf(memory, number)).flat();
    const chunksRead = { count: 0 };
    const { get } = store;
    store.get = (key) => {
      chunksRead.count += key[0] === 0x18 ? 1 : 0;
      return get.call(store, key);
    };
    for (const at of [0, 1, 300, 900, all.length - 2, all.length - 1, all.length]) {
      chunksRead.count = 0;
      const after = all[at - 1]?.sequence ?? 0;
      const numbers: number[] = [];
      for await (const page of history.readAfter(number, after)) {
        const fresh = page.filter(({ event }) => event.sequence > after);
        numbers.push(...fresh.map(({ event }) => event.number));
      }
      expect(numbers).toEqual(all.slice(at).map((event) => event.number));
      const chunksAfter = Math.ceil((all.length - at) / CHUNK_EVENTS_MAX);
      expect(chunksRead.count).toBeLessThan(chunksAfter + 12);
    }
  });

  it("comes in pages of a bounded number of events", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1");
    await repeat(memory, "r1", 200);
    const unsaved = await pagesOf(memory, number);
    await memory.time.advance(3000);
    const saved = await pagesOf(memory, number);
    for (const pages of [unsaved, saved]) {
      expect(pages.flat()).toHaveLength(401);
      expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(CHUNK_EVENTS_MAX);
    }
  });

  it("has no event that is not durable", async () => {
    const memory = await MemoryKernel.create();
    memory.disk.holdWrites = true;
    memory.kernel.ask(runOf("r1"), startRun(onePlan)).catch(() => undefined);
    await memory.time.settle();
    expect(await pagesOf(memory, 1)).toEqual([]);
    memory.disk.flush();
    await memory.time.settle();
    expect((await pagesOf(memory, 1)).flat()).toHaveLength(1);
  });

  it("goes on where it was although a checkpoint moves events between two pages", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1");
    await repeat(memory, "r1", 300);
    const numbers: number[] = [];
    for await (const page of memory.kernel.history.read(number, 1)) {
      numbers.push(...page.map(({ event }) => event.number));
      await memory.time.advance(2000);
    }
    expect(numbers).toEqual(Array.from({ length: 601 }, (_, at) => at + 1));
  });

  it("is empty for a run that does not exist", async () => {
    const memory = await MemoryKernel.create();
    expect(await pagesOf(memory, 99)).toEqual([]);
  });
});
