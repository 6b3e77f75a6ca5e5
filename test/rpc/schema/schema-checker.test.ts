import { CallerGone } from "@pawl/server/rpc/call-scope.js";
import { FairQueue } from "@pawl/server/rpc/schema/fair-queue.js";
import { type SchemaAsker, SchemaChecker } from "@pawl/server/rpc/schema/schema-checker.js";
import { afterEach, describe, expect, test } from "vitest";

const number = '{"type":"number"}';
/** A document that takes for ever to check. */
const endless = {
  schema: JSON.stringify({ type: "string", pattern: "^(a+)+$" }),
  document: JSON.stringify(`${"a".repeat(60)}!`),
};
const asker = (namespace: string): SchemaAsker => ({ namespace, isGone: () => false });

let checker: SchemaChecker;
afterEach(() => checker.close());

describe("a check", () => {
  test("is cut off after its own time, however long the start of the thread may take", async () => {
    checker = new SchemaChecker({ checkMs: 200, startMs: 3_600_000 });
    expect(await checker.check(endless, asker("a"))).toEqual({
      case: "badDocument",
      why: "checking took longer than 200 ms",
    });
  });

  test("that takes too long says nothing against a schema: it may be sent again", async () => {
    checker = new SchemaChecker({ checkMs: 0 });
    expect(await checker.check({ schema: number }, asker("a"))).toEqual({
      case: "unchecked",
      bound: "0 ms for a check",
    });
  });

  test("waits for one of another namespace at most, whatever that has waiting", async () => {
    checker = new SchemaChecker({ checkMs: 200 });
    const order: string[] = [];
    const ask = async (namespace: string, job: { schema: string; document?: string }) => {
      await checker.check(job, asker(namespace));
      order.push(namespace);
    };
    await Promise.all([
      ...Array.from({ length: 3 }, () => ask("slow", endless)),
      ask("fast", { schema: number }),
    ]);
    expect(order).toEqual(["slow", "fast", "slow", "slow"]);
  });

  test("that nobody waits for any more is not made", async () => {
    checker = new SchemaChecker({ checkMs: 200 });
    const first = checker.check(endless, asker("a"));
    let isGone = false;
    const left = checker.check(endless, { namespace: "a", isGone: () => isGone });
    isGone = true;
    await Promise.all([first, expect(left).rejects.toBeInstanceOf(CallerGone)]);
  });

  test("that has waited for too long is not begun", async () => {
    checker = new SchemaChecker({ checkMs: 200, waitMs: 100 });
    const first = checker.check(endless, asker("a"));
    const second = checker.check({ schema: number }, asker("a"));
    expect((await first).case).toBe("badDocument");
    expect(await second).toEqual({ case: "unchecked", bound: "100 ms of waiting" });
  });

  test("is refused where its namespace, or all of them, have too many waiting", async () => {
    checker = new SchemaChecker({ checkMs: 20_000, ofNamespaceMax: 1, waitingMax: 2 });
    const job = { schema: number };
    const [, , ofA, ofB, ofC] = await Promise.all(
      ["a", "a", "a", "b", "c"].map((namespace) => checker.check(job, asker(namespace))),
    );
    expect(ofA).toEqual({ case: "unchecked", bound: "1 waiting checks of a namespace" });
    expect(ofB).toEqual({ case: "fits" });
    expect(ofC).toEqual({ case: "unchecked", bound: "2 waiting checks" });
  });
});

test("a fair queue takes one of each owner in turn, and each one's own in order", () => {
  checker = new SchemaChecker();
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "c1", "b2"]) {
    queue.push(item.slice(0, 1), item);
  }
  expect([queue.size, queue.sizeOf("a"), queue.sizeOf("d")]).toEqual([6, 3, 0]);
  expect(Array.from({ length: 7 }, () => queue.shift())).toEqual([
    "a1",
    "b1",
    "c1",
    "a2",
    "b2",
    "a3",
    undefined,
  ]);
  expect(queue.size).toBe(0);
});
