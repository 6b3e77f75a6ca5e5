import { KernelClock } from "@pawl/server/kernel/kernel-clock.js";
import { describe, expect, it } from "vitest";

/** A clock of this machine whose wall part a test moves by itself. */
class TwoClocks {
  wall = 1_000_000_000;
  monotonic = 5_000;
  wallMs(): number {
    return this.wall;
  }
  monotonicMs(): number {
    return this.monotonic;
  }
  pass(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
  }
}

describe("kernel time", () => {
  it("begins with the wall clock, but never before the last recorded time", () => {
    expect(new KernelClock(new TwoClocks(), 0).now()).toBe(1_000_000_000);
    expect(new KernelClock(new TwoClocks(), 1_000_000_777).now()).toBe(1_000_000_777);
  });

  it("passes as the monotonic clock does", () => {
    const clocks = new TwoClocks();
    const time = new KernelClock(clocks, 0);
    clocks.pass(60_000);
    expect(time.now()).toBe(1_000_060_000);
  });

  it("does not step when the wall clock jumps an hour ahead, and hurries by at most 0.1 %", () => {
    const clocks = new TwoClocks();
    const time = new KernelClock(clocks, 0);
    clocks.wall += 3_600_000;
    expect(time.now()).toBe(1_000_000_000);
    clocks.pass(100_000);
    expect(time.now()).toBe(1_000_100_100);
  });

  it("goes on, at nine tenths of the speed, when the wall clock jumps an hour back", () => {
    const clocks = new TwoClocks();
    const time = new KernelClock(clocks, 0);
    clocks.wall -= 3_600_000;
    clocks.pass(100_000);
    expect(time.now()).toBe(1_000_090_000);
  });

  it("meets the wall clock and stays with it", () => {
    const clocks = new TwoClocks();
    const time = new KernelClock(clocks, 0);
    clocks.wall -= 1_000;
    for (let index = 0; index < 20; index++) {
      clocks.pass(1_000);
      time.now();
    }
    expect(time.now()).toBe(clocks.wall);
  });
});
