import type { Cancellable, Timers } from "@pawl/server/kernel/ports.js";
import { MemoryKernel } from "@pawl/server/memory-kernel.js";
import { expect, test } from "vitest";
import { VirtualTime } from "../support/virtual-time.js";

/** Timers that never call back, and know which calls were not called off. */
class HeldTimers implements Timers {
  readonly held = new Set<() => void>();

  after(_delayMs: number, callback: () => void): Cancellable {
    this.held.add(callback);
    return { cancel: () => this.held.delete(callback) };
  }

  soon(callback: () => void): Cancellable {
    return this.after(0, callback);
  }
}

test("a kernel in memory that is killed leaves no timer that would keep what it had, and arms none from then on", async () => {
  const time = new VirtualTime();
  const housekeeping = new HeldTimers();
  const onFault = (error: unknown): never => {
    throw error;
  };
  const memory = await MemoryKernel.open({ time, housekeeping, onFault });
  // Its watch of the disk, and the scrubber's first round.
  await expect.poll(() => housekeeping.held.size).toBeGreaterThan(1);
  const late = [...housekeeping.held];
  await memory.kill();
  expect(housekeeping.held.size).toBe(0);
  for (const call of late) call();
  await new Promise((resolve) => setImmediate(resolve));
  expect(housekeeping.held.size).toBe(0);
});
