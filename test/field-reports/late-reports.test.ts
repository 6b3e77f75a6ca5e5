import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, json, leaseRef } from "../rpc/support/fixtures.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import {
  claimAndHold,
  claimNow,
  eventsOf,
  holdTask,
  renew,
  report,
  startTask,
  taskOf,
} from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

describe("a report at the moment in which its lease ends", () => {
  test.each([-60, -51, -50, -2, -1, 0, 1, 2, 49, 50, 51, 60])(
    "%i ms off is either taken or refused, and the task ends once",
    async (offsetMs) => {
      const { grpc, time } = clocked;
      const offer = await holdTask(grpc, "r");
      await time.pass(900);
      const reported = report(grpc, offer, { output: "first" });
      await time.pass(100 + offsetMs, 1);
      const answer = await reported;
      await time.pass(100);

      const task = await taskOf(grpc, "r");
      const events = await eventsOf(grpc, "r");
      const completions = events.filter((type) => type === "TaskCompleted");
      const losses = events.filter((type) => type === "LeaseEnded");
      if (answer === "accepted") {
        expect(task.status).toBe(TaskStatus.COMPLETED);
        expect({ completions, losses }).toEqual({ completions: ["TaskCompleted"], losses: [] });
      } else {
        expect(answer).toBe("PAWL_LEASE_LOST");
        expect({ completions, losses }).toEqual({ completions: [], losses: ["LeaseEnded"] });
      }
    },
  );

  test("a millisecond before is always taken", async () => {
    const { grpc, time } = clocked;
    const offer = await holdTask(grpc, "r");
    await time.pass(999);
    expect(await report(grpc, offer, { output: "in time" })).toBe("accepted");
  });

  test("long ago leaves a completed task as it is when the old deadline comes", async () => {
    const { grpc, time } = clocked;
    const offer = await holdTask(grpc, "r");
    await report(grpc, offer, { output: "done" });
    const before = await eventsOf(grpc, "r");
    await time.pass(10_000, 50);
    expect(await eventsOf(grpc, "r")).toEqual(before);
    expect((await taskOf(grpc, "r")).status).toBe(TaskStatus.COMPLETED);
  });
});

describe("an attempt whose lease has ended", () => {
  test("is never offered again while the next one lives, and its report is refused with the current lease", async () => {
    const { grpc, time } = clocked;
    const first = await holdTask(grpc, "r", { retry: { initialInterval: { nanos: 0 } } });
    await time.pass(1_100, 50);
    await time.pass(1_500, 50);
    const second = await claimAndHold(grpc, "r");
    expect(second).toMatchObject({ attempt: 2, leaseVersion: 2 });

    for (let round = 0; round < 20; round++) {
      expect(await claimNow(grpc, "r")).toBeUndefined();
    }
    const { results } = await grpc.unary(work.reportOutputs, {
      reports: [{ ...leaseRef(first), outcome: { case: "output", value: json("late") } }],
    });
    expect(results[0]?.rejection).toMatchObject({
      reason: "PAWL_LEASE_LOST",
      detail: {
        case: "leaseLost",
        value: { held: 1, current: 2, status: "LEASED" },
      },
    });
    expect(await report(grpc, second, { output: "in time" })).toBe("accepted");
  });
});

describe("a run that a person has ended", () => {
  test.each(["terminated", "cancelled and out of grace"])(
    "(%s) stays so, whatever its worker says later",
    async (how) => {
      const { grpc, time } = clocked;
      const offer = await holdTask(grpc, "r", { cancelGrace: { seconds: 2n } });
      if (how === "terminated") {
        await grpc.unary(run.terminateRun, { runId: "r", reason: "enough" });
      } else {
        await grpc.unary(run.cancelRun, { runId: "r", reason: "enough" });
        for (let passedMs = 0; passedMs < 2_500; passedMs += 500) {
          await renew(grpc, offer);
          await time.pass(500, 50);
        }
      }
      const before = await eventsOf(grpc, "r");

      expect([
        await report(grpc, offer, { output: "late" }),
        await report(grpc, offer, { failure: "late" }),
        await renew(grpc, offer),
      ]).toEqual([
        expect.stringMatching(/^PAWL_(RUN_OVER|LEASE_LOST)$/),
        expect.stringMatching(/^PAWL_(RUN_OVER|LEASE_LOST)$/),
        "PAWL_LEASE_LOST",
      ]);
      await time.pass(600_000, 1_000);
      expect(await claimNow(grpc, "r")).toBeUndefined();
      expect(await eventsOf(grpc, "r")).toEqual(before);
      const { run: view } = await grpc.unary(run.getRun, { runId: "r" });
      expect(view?.status).toBe(how === "terminated" ? RunStatus.TERMINATED : RunStatus.CANCELLED);
    },
  );
});

describe("a report that comes again", () => {
  test("is existing when it says the same, and a conflict with both fingerprints when it does not", async () => {
    const { grpc } = clocked;
    const offer = await holdTask(grpc, "r");
    expect(await report(grpc, offer, { output: { a: 1 } })).toBe("accepted");
    expect(await report(grpc, offer, { output: { a: 1 } })).toBe("existing");
    const { results } = await grpc.unary(work.reportOutputs, {
      reports: [{ ...leaseRef(offer), outcome: { case: "output", value: json({ a: 2 }) } }],
    });
    const { detail, reason } = results[0]?.rejection ?? {};
    expect(reason).toBe("PAWL_FINGERPRINT_CONFLICT");
    if (detail?.case !== "fingerprintConflict") throw new Error(`no conflict: ${detail?.case}`);
    const { recorded, received } = detail.value;
    expect([recorded.length, received.length]).toEqual([32, 32]);
    expect(Buffer.from(recorded).equals(received)).toBe(false);
  });
});

describe("a claim whose answer is lost", () => {
  test("goes to another worker within seconds, although its lease would last an hour", async () => {
    const { grpc, time, disk } = clocked;
    await startTask(grpc, "r", { timeouts: { lease: { seconds: 3_600n } } });
    disk.holdWrites = true;
    const claiming = claim(grpc, "kind-r").catch((error: unknown) => error);
    while (disk.heldWrites === 0) await new Promise(setImmediate);
    // The claim is on its way to the disk; its worker is gone before it could hear of it.
    grpc.close();
    disk.holdWrites = false;
    disk.flush();
    await claiming;
    clocked.reconnect();

    await time.pass(4_900, 50);
    expect(await claimNow(clocked.grpc, "r")).toBeUndefined();
    await time.pass(200, 50);
    expect(await claimNow(clocked.grpc, "r")).toMatchObject({ leaseVersion: 2, attempt: 1 });
  });
});
