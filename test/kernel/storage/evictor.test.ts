import { describe, expect, it } from "vitest";
import { createMemoryStore, MemoryKernel } from "../../support/kernel.js";
import { start } from "./support/one-run.js";

const RUNS = 60;
/** Room for about 20 of them, by the evictor's estimate. */
const residentBytesMax = 60_000;

describe("runs that are read for a list", () => {
  it("leave memory again before the next second, when they take more than it may hold", async () => {
    const memory = new MemoryKernel({ residentBytesMax });
    await createMemoryStore(memory.disk);
    await memory.open();
    for (let number = 0; number < RUNS; number++) {
      await start(memory, `r${number}`);
    }
    await memory.time.advance(3_000);
    await memory.close();
    await memory.open();
    await memory.time.advance(1_000);
    await memory.kernel.ready;
    const { residency } = memory.kernel;
    let most = 0;
    for (let number = 1; number <= RUNS; number++) {
      await memory.kernel.load(number);
      await memory.time.settle(); // Time stands still: what has gone is gone for its bytes.
      most = Math.max(most, residency.size);
    }
    expect(most).toBeGreaterThan(5);
    expect(most).toBeLessThan(RUNS / 2);
    await memory.close();
  });
});
