import { DeadlineQueue, type Due } from "@pawl/server/kernel/deadline-queue.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualTime } from "../support/virtual-time.js";

interface Entry extends Due {
  readonly name: string;
}

function makeQueue(): {
  time: VirtualTime;
  queue: DeadlineQueue<Entry>;
  fired: { name: string; atMs: number }[];
} {
  const time = new VirtualTime(1_000_000);
  const fired: { name: string; atMs: number }[] = [];
  const queue = new DeadlineQueue<Entry>(
    time,
    () => time.monotonicMs(),
    ({ name }) => fired.push({ name, atMs: time.monotonicMs() }),
  );
  return { time, queue, fired };
}

describe("the queue of deadlines", () => {
  it("never fires early, and at most 100 ms late", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 5_000 }), { maxLength: 40 }), async (delays) => {
        const { time, queue, fired } = makeQueue();
        const dueByName = new Map<string, number>();
        for (const [index, delayMs] of delays.entries()) {
          dueByName.set(`e${index}`, 1_000_000 + delayMs);
          queue.add({ name: `e${index}`, dueMs: 1_000_000 + delayMs, queuedIn: 0 });
        }
        await time.advance(5_200);
        expect(fired.map(({ name }) => name).sort()).toEqual([...dueByName.keys()].sort());
        for (const { name, atMs } of fired) {
          const lateMs = atMs - (dueByName.get(name) ?? 0);
          expect(lateMs).toBeGreaterThanOrEqual(0);
          expect(lateMs).toBeLessThanOrEqual(100);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("fires a deadline of 40 days in 40 days, although no host timer waits so long", async () => {
    const { time, queue, fired } = makeQueue();
    const dayMs = 86_400_000;
    queue.add({ name: "far", dueMs: 1_000_000 + 40 * dayMs, queuedIn: 0 });
    await time.advance(39 * dayMs);
    expect(fired).toEqual([]);
    await time.advance(dayMs + 100);
    expect(fired.map(({ name }) => name)).toEqual(["far"]);
  });

  it("passes over an entry that was moved later, and fires it then", async () => {
    const { time, queue, fired } = makeQueue();
    const entry = { name: "moved", dueMs: 1_000_500, queuedIn: 0 };
    queue.add(entry);
    entry.dueMs = 1_002_000;
    await time.advance(1_500);
    expect(fired).toEqual([]);
    await time.advance(700);
    expect(fired.map(({ name }) => name)).toEqual(["moved"]);
  });

  it("does not fire what was removed", async () => {
    const { time, queue, fired } = makeQueue();
    const entry = { name: "gone", dueMs: 1_000_500, queuedIn: 0 };
    queue.add(entry);
    queue.remove(entry);
    await time.advance(1_000);
    expect(fired).toEqual([]);
  });
});

describe("deadlines that are far ahead", () => {
  it("keeps little of far deadlines that were called off", async () => {
    const { time, queue } = makeQueue();
    for (let count = 0; count < 50_000; count++) {
      await time.advance(50);
      const entry = { name: "far", dueMs: time.monotonicMs() + 7 * 86_400_000, queuedIn: 0 };
      queue.add(entry);
      queue.remove(entry);
    }
    expect(queue.size).toBe(0);
    expect(queue.buckets).toBeLessThan(2_100);
  });

  it("fires each in its time although thousands around it were called off", async () => {
    const { time, queue, fired } = makeQueue();
    const dueMs = [1_000_500, 1_090_000, 1_200_000, 8_000_000, 700_000_000];
    for (const [index, ms] of dueMs.entries()) {
      for (let count = 1; count <= 1_000; count++) {
        const entry = { name: "off", dueMs: ms + count * 70, queuedIn: 0 };
        queue.add(entry);
        queue.remove(entry);
      }
      queue.add({ name: `${index}`, dueMs: ms, queuedIn: 0 });
    }
    expect(queue.buckets).toBeLessThan(2_100);
    await time.advance(700_000_200);
    expect(fired.map(({ name }) => name)).toEqual(["0", "1", "2", "3", "4"]);
    for (const { name, atMs } of fired) {
      const lateMs = atMs - (dueMs[Number(name)] ?? 0);
      expect([lateMs >= 0, lateMs <= 100]).toEqual([true, true]);
    }
  });
});

describe("an entry of the queue that is taken out", () => {
  it("is found also when it was moved while it was queued, and queued again since", async () => {
    const { time, queue, fired } = makeQueue();
    const entry = { name: "moved", dueMs: 1_000_500, queuedIn: 0 };
    queue.add(entry);
    entry.dueMs = 1_002_000;
    await time.advance(1_000);
    queue.remove(entry);
    expect(queue.size).toBe(0);
    await time.advance(5_000);
    expect(fired).toEqual([]);
  });

  it("fires what is added where all was removed", async () => {
    const { time, queue, fired } = makeQueue();
    const entry = { name: "gone", dueMs: 1_000_500, queuedIn: 0 };
    queue.add(entry);
    queue.remove(entry);
    expect(queue.size).toBe(0);
    queue.add({ name: "new", dueMs: 1_000_500, queuedIn: 0 });
    expect(queue.size).toBe(1);
    await time.advance(1_000);
    expect(fired.map(({ name }) => name)).toEqual(["new"]);
  });

  it("lets others act between thousands that are due at once", async () => {
    const { time, queue, fired } = makeQueue();
    for (let index = 0; index < 10_000; index++) {
      queue.add({ name: `${index}`, dueMs: 1_000_100, queuedIn: 0 });
    }
    const seen: number[] = [];
    time.after(102, () => seen.push(fired.length));
    await time.advance(300);
    expect(fired).toHaveLength(10_000);
    expect(new Set(fired.map(({ name }) => name)).size).toBe(10_000);
    expect(seen[0]).toBeGreaterThan(0);
    expect(seen[0]).toBeLessThan(10_000);
  });
});
