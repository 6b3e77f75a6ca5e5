import type { DescMessage } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { connect, task } from "@pawl/sdk";
import { timerMsMax } from "@pawl/server/kernel/ports.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, leaseRef } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import {
  claimAndHold,
  claimNow,
  duration,
  eventsOf,
  holdTask,
  renew,
  report,
  startTask,
  taskOf,
} from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const yearMs = 365 * dayMs;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

describe("a task that is not due for longer than its lease", () => {
  /** Workers that wait for the task all the time, each on its stream. */
  async function waitingWorkers(): Promise<TestWorker[]> {
    return await Promise.all(
      ["one", "two", "three"].map((sessionId) =>
        TestWorker.connect(
          clocked.grpc,
          { sessionId, serves: [{ kind: "kind-r" }] },
          { credits: 10 },
        ),
      ),
    );
  }

  /** How many offers the workers have, once everything that was sent has arrived. */
  async function offersSoFar(workers: readonly TestWorker[]): Promise<number> {
    for (const [index, worker] of workers.entries()) {
      const ping = 1_000 + worker.seen.length + index;
      worker.send({ ping });
      await worker.receiveWhere(({ pong }) => pong === ping);
    }
    return workers.flatMap(({ seen }) => seen.flatMap(({ offers }) => offers)).length;
  }

  test.each([
    ["ten leases", 10_000],
    ["six hours", 6 * hourMs],
  ])("waits %s in the kernel, and goes to one worker when it is due", async (_, delayMs) => {
    const { grpc, time } = clocked;
    const offer = await holdTask(grpc, "r");
    await report(grpc, offer, { failure: "not yet", retryAfterMs: delayMs });
    const workers = await waitingWorkers();

    await time.pass(delayMs - 100, delayMs / 100);
    expect(await offersSoFar(workers)).toBe(0);
    expect((await taskOf(grpc, "r")).status).toBe(TaskStatus.BACKOFF);
    await time.pass(200, 50);
    expect(await offersSoFar(workers)).toBe(1);
    const leased = (await eventsOf(grpc, "r")).filter((type) => type === "TaskLeased");
    expect(leased).toHaveLength(2);
  });

  test("stays in the kernel over a restart", async () => {
    const offer = await holdTask(clocked.grpc, "r");
    await report(clocked.grpc, offer, { failure: "not yet", retryAfterMs: 6 * hourMs });
    await clocked.kill();
    await clocked.time.pass(3 * hourMs);
    await clocked.start();
    expect(await claimNow(clocked.grpc, "r")).toBeUndefined();
    await clocked.time.pass(3 * hourMs - 1_000);
    expect(await claimNow(clocked.grpc, "r")).toBeUndefined();
    await clocked.time.pass(2_000, 50);
    expect(await claimNow(clocked.grpc, "r")).toMatchObject({ attempt: 2 });
  });
});

describe("a deadline beyond the longest wait of a host timer", () => {
  test.each([
    ["30 days", 30 * dayMs],
    ["2^31 ms", 2 ** 31],
    ["2^32 + 5,000 ms", 2 ** 32 + 5_000],
    ["10 years", 10 * yearMs],
  ])("of %s fires when it is due, and not before", async (_, ms) => {
    const { grpc, time } = clocked;
    await startTask(grpc, "r", { timeouts: { scheduleToStart: duration(ms) } });
    // A timer that overflows would fire within the first milliseconds.
    await time.pass(20, 1);
    expect((await taskOf(grpc, "r")).status).toBe(TaskStatus.READY);
    await time.pass(ms - 1_020, ms / 40);
    expect((await taskOf(grpc, "r")).status).toBe(TaskStatus.READY);
    await time.pass(1_100, 50);
    expect((await taskOf(grpc, "r")).status).toBe(TaskStatus.FAILED);
    const { run: view } = await grpc.unary(run.getRun, { runId: "r" });
    expect(view?.status).toBe(RunStatus.FAILED);
    for (const delayMs of time.delaysMs) {
      expect(delayMs).toSatisfy((asked: number) => asked >= 0 && asked <= timerMsMax);
    }
  });

  test("is armed again after a restart", async () => {
    await startTask(clocked.grpc, "r", { timeouts: { scheduleToStart: duration(30 * dayMs) } });
    await clocked.kill();
    await clocked.time.pass(29 * dayMs);
    await clocked.start();
    await clocked.time.pass(dayMs - 1_000, dayMs / 20);
    expect((await taskOf(clocked.grpc, "r")).status).toBe(TaskStatus.READY);
    await clocked.time.pass(1_100, 50);
    expect((await taskOf(clocked.grpc, "r")).status).toBe(TaskStatus.FAILED);
  });

  test("is no deadline at once for the SDK either", async () => {
    const client = connect({ url: clocked.url, onConnection: () => undefined });
    const patient = task("patient", { timeouts: { startToClose: "30d", lease: "1d" } });
    await client.worker({
      serve: [
        patient.run(async (ctx) => {
          for (const turn of ["1", "2", "3"]) {
            await ctx.step("turn", { key: turn, durable: true, timeout: "30d" }, () => turn);
          }
          return ctx.signal.aborted ? "aborted" : "left alone";
        }),
      ],
    });
    const started = await client.start(patient, undefined, { timeout: "30d" });
    expect(await started.result({ timeout: "30d" })).toBe("left alone");
    await client.close();
  });
});

describe("a length of time that no deadline can have", () => {
  test.each([
    ["a lease of 2^31 ms", { lease: duration(2 ** 31) }],
    ["a lease of nothing", { lease: duration(0) }],
    ["a timeout that ends in the year 9999", { scheduleToClose: duration(7_970 * yearMs) }],
    ["a negative timeout", { startToClose: { seconds: -1n } }],
    ["a timeout with two signs", { startToClose: { seconds: 1n, nanos: -1 } }],
    ["a timeout beyond all numbers", { scheduleToStart: { seconds: 2n ** 63n - 1n } }],
  ])("(%s) is refused by name, and nothing is stored", async (_, timeouts) => {
    const { grpc } = clocked;
    expect(await startTask(grpc, "r", { timeouts })).toBe("PAWL_INVALID_FIELD");
    await expect(grpc.unary(run.getRun, { runId: "r" })).rejects.toMatchObject({
      reason: "PAWL_RUN_NOT_FOUND",
    });
  });

  test.each(["NaNms", "Infinitys", "-1s", "1e999d", "", "30"])(
    'written "%s" is refused where it is written',
    (lease) => {
      // Whoever writes no types can write this.
      const written: { readonly lease: "1s" } = JSON.parse(JSON.stringify({ lease }));
      expect(() => task("t", { timeouts: written })).toThrow(
        expect.objectContaining({ code: "PAWL_DEFINITION_INVALID" }),
      );
    },
  );
});

describe("a lease", () => {
  test.each([
    ["an hour back", -hourMs],
    ["an hour ahead", hourMs],
    ["ten years ahead", 10 * yearMs],
  ])("neither ends nor comes back when the kernel's clock is set %s", async (_, ms) => {
    const { grpc, time } = clocked;
    const offer = await holdTask(grpc, "r", { retry: { initialInterval: duration(1) } });
    time.jumpWall(ms);
    // Kernel time runs up to a tenth faster or slower while it approaches a clock that was set.
    await time.pass(900, 50);
    expect(await renew(grpc, offer)).toBeUndefined();
    await time.pass(900, 50);
    expect(await claimNow(grpc, "r")).toBeUndefined();
    await time.pass(350, 50);
    expect(await renew(grpc, offer)).toBe("PAWL_LEASE_LOST");
    const next = await claimAndHold(grpc, "r");
    expect(next).toMatchObject({ leaseVersion: 2, attempt: 2 });
    time.jumpWall(-ms);
    await time.pass(500, 50);
    expect(await report(grpc, offer, { output: "late" })).toBe("PAWL_LEASE_LOST");
    expect(await report(grpc, next, { output: "in time" })).toBe("accepted");
  });

  test("does not end before ten seconds are over after a restart, whatever the clock says meanwhile", async () => {
    const offer = await holdTask(clocked.grpc, "r");
    await clocked.kill();
    clocked.time.jumpWall(-hourMs);
    await clocked.start();
    await clocked.time.pass(9_000, 50);
    expect(await renew(clocked.grpc, offer)).toBeUndefined();
  });

  test("that ended over a restart gives the next attempt the same operation key", async () => {
    const { time } = clocked;
    const first = await holdTask(clocked.grpc, "r", { retry: { initialInterval: duration(1) } });
    expect(await intendKey(first)).toBe("task/default/r/1/only/pay/1");
    await clocked.kill();
    await clocked.start();
    await time.pass(12_000, 50);
    const second = await claimAndHold(clocked.grpc, "r");
    expect(second).toMatchObject({ attempt: 2, leaseVersion: 2 });
    expect(await intendKey(second)).toBe("task/default/r/1/only/pay/1");
    expect(await report(clocked.grpc, first, { output: "late" })).toBe("PAWL_LEASE_LOST");
  });

  test("is asked for, and everything else too, in lengths of time and never in a worker's own time", () => {
    const services = [RunService, WorkerService, OperationService, ReviewService, AdminService];
    const inputs = services.flatMap(({ methods }) => methods.map(({ input }) => input));
    expect(inputs.filter((input) => contains(input, TimestampSchema.typeName))).toEqual([]);
    expect(contains(work.reportProgress.output, TimestampSchema.typeName)).toBe(true);
  });
});

/** The key under which an intent of this lease is recorded, whatever it is told to do. */
async function intendKey(offer: Parameters<typeof leaseRef>[0]): Promise<string> {
  const { answer } = await clocked.grpc.unary(OperationService.method.intendOperation, {
    holder: leaseRef(offer),
    intentId: `intent-${offer.leaseVersion}`,
    operation: {
      name: "pay",
      scope: 1,
      target: "account-1",
      payload: json({ cents: 1 }),
      sink: { kind: 1, keyWindowMs: 3_600_000n, settleMs: 0 },
      callTimeoutMs: 1_000,
    },
  });
  return answer?.answer.value?.key ?? "";
}

/** Whether a message, or one inside it, is of this type. */
function contains(message: DescMessage, typeName: string, seen = new Set<string>()): boolean {
  if (message.typeName === typeName) return true;
  if (seen.has(message.typeName)) return false;
  seen.add(message.typeName);
  return message.fields.some(
    ({ message: inner }) => inner !== undefined && contains(inner, typeName, seen),
  );
}
