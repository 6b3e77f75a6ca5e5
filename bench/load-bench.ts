import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { measureDiskRate } from "./disk-rate.js";
import type { DriverAnswer, DriverMark, DriverOrder } from "./driver-orders.js";
import type { Figures } from "./floors.js";
import { round } from "./percentile.js";
import { cpuUs, folderBytes, rssMb } from "./process-usage.js";
import { type System, startSystem } from "./system.js";

/** A closed loop over one plan. */
export interface LoadCase {
  readonly bench: "queue" | "chain" | "steps";
  readonly load: "saturated" | "single";
  readonly inFlight: number;
  readonly slots: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

interface Sample {
  readonly kernelUs: number;
  readonly workerUs: number;
  readonly driverUs: number;
  readonly diskBytes: number;
  readonly horizonLag: number;
}

/** Measures one load on a fresh store with fresh processes. */
export async function measureLoad(loadCase: LoadCase): Promise<Figures> {
  const system = await startSystem(loadCase.slots);
  try {
    const fdatasyncPerSec = measureDiskRate(system.directory);
    return { ...(await measure(loadCase, system)), fdatasyncPerSec };
  } finally {
    await system.close();
  }
}

async function measure(loadCase: LoadCase, system: System): Promise<Figures> {
  const { bench, load, inFlight, warmUpMs, measureMs } = loadCase;
  const order: DriverOrder = { kind: "load", plan: bench, inFlight, warmUpMs, measureMs };
  await system.driver.ask<DriverMark>(order);
  const before = await takeSample(system);
  await system.driver.next<DriverMark>();
  const middle = await takeSample(system);
  const answer = await system.driver.next<DriverAnswer>();
  const after = await takeSample(system);
  const perItem = (key: "kernelUs" | "workerUs" | "driverUs"): number =>
    round((after[key] - before[key]) / answer.completed);
  const [kernelUs, workerUs, driverUs] = [
    perItem("kernelUs"),
    perItem("workerUs"),
    perItem("driverUs"),
  ];
  return {
    bench,
    load,
    perSec: Math.round(answer.completed / answer.seconds),
    p50Ms: answer.p50Ms,
    p99Ms: answer.p99Ms,
    seconds: answer.seconds,
    wrong: answer.wrong,
    inFlight,
    cpuUsPerItem: round(kernelUs + workerUs + driverUs),
    kernelCpuUs: kernelUs,
    workerCpuUs: workerUs,
    driverCpuUs: driverUs,
    diskBytesPerRun: Math.round((after.diskBytes - before.diskBytes) / answer.completed),
    horizonLagMid: middle.horizonLag,
    horizonLagEnd: after.horizonLag,
    rssMb: rssMb(system.kernel.pid),
  };
}

async function takeSample(system: System): Promise<Sample> {
  const admin = createClient(AdminService, createGrpcTransport({ baseUrl: system.url }));
  const { durableSequence, horizonSequence } = await admin.getServerInfo({});
  return {
    kernelUs: cpuUs(system.kernel.pid),
    workerUs: cpuUs(system.worker.pid),
    driverUs: cpuUs(system.driver.pid),
    diskBytes: folderBytes(system.directory),
    horizonLag: Number(durableSequence - horizonSequence),
  };
}
