import { StoreGuard } from "@pawl/server/log/store-guard.js";
import { expect, test } from "vitest";

/** A promise that is settled from outside. */
function settleable(): {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
} {
  let resolve: () => void = () => undefined;
  let reject: (cause: unknown) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

function tick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test("a write whose good news comes before an older write's bad news is not acknowledged", async () => {
  const guard = new StoreGuard();
  const [older, newer] = [settleable(), settleable()];
  const ends: string[] = [];
  const olderEnd = guard
    .acknowledge("append", older.promise)
    .catch(() => ends.push("older failed"));
  const newerEnd = guard
    .acknowledge("write rows", newer.promise)
    .then(() => ends.push("newer acknowledged"))
    .catch((error: unknown) => {
      expect(error).toMatchObject({ code: "PAWL_STORE_FAILED", cause: { message: "disk full" } });
      ends.push("newer failed");
    });
  newer.resolve();
  await tick();
  expect(ends).toEqual([]);
  older.reject(new Error("disk full"));
  await Promise.all([olderEnd, newerEnd]);
  expect(ends.sort()).toEqual(["newer failed", "older failed"]);
});

test("a write waits for those beside it only, not for those that come after it has ended", async () => {
  const guard = new StoreGuard();
  const [first, second, third] = [settleable(), settleable(), settleable()];
  const ends: number[] = [];
  const end1 = guard.acknowledge("append", first.promise).then(() => ends.push(1));
  void guard.acknowledge("append", second.promise).then(() => ends.push(2));
  first.resolve();
  await tick();
  void guard.acknowledge("append", third.promise).then(() => ends.push(3));
  second.resolve();
  await end1;
  expect(ends).toEqual([1]);
  await tick();
  expect(ends).toEqual([1]);
  third.resolve();
  await tick();
  expect(ends.sort()).toEqual([1, 2, 3]);
});

test("a handle whose writes are ordered acknowledges each at once", async () => {
  const guard = new StoreGuard({ isOrdered: true });
  const [first, second] = [settleable(), settleable()];
  void guard.acknowledge("append", second.promise);
  first.resolve();
  await guard.acknowledge("append", first.promise);
  second.resolve();
  await guard.drain();
});
