import { measureDiskRate } from "./disk-rate.js";
import type { DriverAnswer, DriverOrder } from "./driver-orders.js";
import type { Figures } from "./floors.js";
import { round } from "./percentile.js";
import { rssMb } from "./process-usage.js";
import { startSystem } from "./system.js";

/** One run of `width` parallel tasks, and a join of a plan or the map of a function, again and again; the figure is the median of one. */
export async function measureFan(size: {
  readonly by: "plan" | "function";
  readonly width: number;
  readonly times: number;
}): Promise<Figures> {
  const system = await startSystem(size.width + 1);
  try {
    const fdatasyncPerSec = measureDiskRate(system.directory);
    const warmUp: DriverOrder = {
      kind: "fan",
      by: size.by,
      width: size.width,
      times: Math.ceil(size.times / 3),
    };
    await system.driver.ask<DriverAnswer>(warmUp);
    const order: DriverOrder = {
      kind: "fan",
      by: size.by,
      width: size.width,
      times: size.times,
    };
    const answer = await system.driver.ask<DriverAnswer>(order);
    return {
      bench: size.by === "plan" ? "fan" : "mapfan",
      load: "single",
      perSec: round(answer.completed / answer.seconds),
      p50Ms: answer.p50Ms,
      p99Ms: answer.p99Ms,
      seconds: round(answer.p50Ms / 1000),
      worstSeconds: round(answer.worstMs / 1000),
      width: size.width,
      times: answer.completed,
      wrong: answer.wrong,
      rssMb: rssMb(system.kernel.pid),
      fdatasyncPerSec,
    };
  } finally {
    await system.close();
  }
}
