import type { Receiver } from "@pawl/server/kernel/outcome.js";
import { type Waiter, Waiters } from "@pawl/server/kernel/waiters.js";
import { expect, it } from "vitest";

const receiver: Receiver = {
  outcome: () => undefined,
  prepare: () => undefined,
  release: () => undefined,
  fault: () => undefined,
};

it("a hundred thousand who wait for one run and go hold nobody up", () => {
  const waiters = new Waiters();
  const all: Waiter[] = Array.from({ length: 100_000 }, (_, tag) => ({ receiver, tag }));
  for (const waiter of all) {
    waiters.add(1, waiter);
  }
  // With work that grows with the square of their number this would take minutes.
  for (const waiter of all) {
    waiters.remove(1, waiter);
  }
  expect(waiters.isEmpty).toBe(true);
});
