import { task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gate, offer, WorkerBench } from "./support/worker-bench.js";

let bench: WorkerBench;

beforeEach(async () => {
  bench = await WorkerBench.open();
});

afterEach(() => bench.close());

describe("closing a worker", () => {
  test("lets running attempts end, and takes no more", async () => {
    const { promise: finish, open } = gate();
    const slow = task("slow").run(async () => {
      await finish;
      return 1;
    });
    const { work, worker } = await bench.start([slow]);
    work.send({ offers: [offer({ kind: "slow" })] });
    await work.until((request) => request.acks[0]);
    const closing = worker.close({ drainMs: 5_000 });
    await work.until((request) => request.drain || undefined);
    work.send({ offers: [offer({ kind: "slow", handle: 2 })] });
    const released = await work.until((request) => request.releases[0]);
    expect(released.handle).toBe(2);
    open();
    const report = await work.until((request) => request.reports[0]);
    expect(report.handle).toBe(1);
    work.send({ accepted: [released.correlation, report.correlation] });
    await closing;
  });

  test("gives back an offer that crosses the farewell, also when nothing runs", async () => {
    const idle = task("idle").run(() => 1);
    const { work, worker } = await bench.start([idle]);
    let isClosed = false;
    const closing = worker.close({ drainMs: 5_000 }).then(() => {
      isClosed = true;
    });
    const ping = await work.until((request) => (request.drain ? request.ping : undefined));
    expect(ping).toBeGreaterThan(0);
    expect(isClosed).toBe(false);
    work.send({ offers: [offer({ kind: "idle" })] });
    work.send({ pong: ping });
    const released = await work.until((request) => request.releases[0]);
    expect(released.handle).toBe(1);
    work.send({ accepted: [released.correlation] });
    await closing;
  });

  test("gives back what does not end, with a typed reason", async () => {
    const seen = gate<unknown>();
    const stuck = task("stuck").run(async (ctx) => {
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener("abort", () => {
          seen.open(ctx.signal.reason);
          reject(ctx.signal.reason);
        });
      });
    });
    const { work, worker } = await bench.start([stuck]);
    work.send({ offers: [offer({ kind: "stuck" })] });
    await work.until((request) => request.acks[0]);
    const closing = worker.close({ drainMs: 20 });
    const released = await work.until((request) => request.releases[0]);
    expect(released.handle).toBe(1);
    expect(await seen.promise).toMatchObject({ code: "PAWL_DRAINING" });
    work.send({ accepted: [released.correlation] });
    await closing;
  });
});
