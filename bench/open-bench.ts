import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { connect } from "@pawl/sdk";
import { measureDiskRate } from "./disk-rate.js";
import type { DriverAnswer, DriverOrder } from "./driver-orders.js";
import type { Figures } from "./floors.js";
import { round } from "./percentile.js";
import { rssMb } from "./process-usage.js";
import { makeFolder, startKernel, startProgram } from "./system.js";
import { makeContent, queuePlan } from "./workload.js";

/** SIGKILL with many open runs, then a start: how soon it serves, how soon it knows everything that is due, how much memory it takes. */
export async function measureOpen(size: { readonly runs: number }): Promise<Figures> {
  const directory = makeFolder();
  const store = join(directory, "store");
  try {
    const fdatasyncPerSec = measureDiskRate(directory);
    const first = await startKernel(store);
    const idleRssMb = rssMb(first.kernel.pid);
    const driver = startProgram("driver", [first.url]);
    await driver.next();
    const order: DriverOrder = { kind: "start", count: size.runs, prefix: "open" };
    const answer = await driver.ask<DriverAnswer>(order);
    await driver.end();
    await first.kernel.kill();
    const figures = await measureStart(store, size.runs);
    return {
      bench: "open",
      load: "restart",
      openRuns: answer.completed,
      wrong: answer.wrong,
      idleRssMb,
      ...figures,
      fdatasyncPerSec,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureStart(store: string, runs: number): Promise<Figures> {
  const startMs = performance.now();
  const since = (): number => round((performance.now() - startMs) / 1000);
  const { kernel, url } = await startKernel(store);
  const client = connect({ url });
  await client.start(queuePlan, makeContent(), { runId: "first-after-start" });
  const firstServedSeconds = since();
  const admin = createClient(AdminService, createGrpcTransport({ baseUrl: url }));
  while (!(await admin.getServerInfo({})).openWorkKnown) {
    await setTimeout(5);
  }
  const timersKnownSeconds = since();
  const memoryMb = rssMb(kernel.pid);
  await client.close();
  await kernel.kill();
  return { firstServedSeconds, timersKnownSeconds, rssMb: memoryMb, runs };
}
