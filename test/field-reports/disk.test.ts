import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { failNth } from "@pawl/server/log/fault-plan.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaseRef, operation } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import {
  claimAndHold,
  claimNow,
  eventsOf,
  holdTask,
  report,
  startTask,
  taskOf,
} from "./support/leases.js";

const { method: run } = RunService;
const { method: ops } = OperationService;

const mib = 1_048_576;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
});

describe("a disk that runs low", () => {
  test("refuses new runs by name, lets the others end, be cancelled and be read, and takes new ones again by itself", async () => {
    const { grpc, disk, time } = clocked;
    const ending = await holdTask(grpc, "ending", { timeouts: {} });
    await startTask(grpc, "waiting");
    await startTask(grpc, "unwanted");
    disk.freeBytes = 40 * mib;
    await time.pass(2_000, 500);

    expect(await startTask(grpc, "new")).toBe("PAWL_DISK_LOW");
    expect(await report(grpc, ending, { output: 1 })).toBe("accepted");
    expect(await claimNow(grpc, "waiting")).toMatchObject({ runId: "waiting" });
    await grpc.unary(run.cancelRun, { runId: "unwanted", reason: "to make room" });
    const { runs } = await grpc.unary(run.listRuns, {});
    expect(runs.map(({ runId, status }) => [runId, status])).toEqual([
      ["unwanted", RunStatus.CANCELLED],
      ["waiting", RunStatus.RUNNING],
      ["ending", RunStatus.COMPLETED],
    ]);
    expect(await eventsOf(grpc, "ending")).toContain("RunClosed");

    disk.freeBytes = 10_000 * mib;
    await time.pass(2_000, 500);
    expect(await startTask(grpc, "new")).toBeUndefined();
    expect(clocked.faults).toEqual([]);
  });
});

describe("a disk that is full", () => {
  test.each(["enospc", "fail", "unknown-kept", "unknown-lost"] as const)(
    "(%s) ends the kernel with what it acknowledged on it, and the next one goes on from there",
    async (fault) => {
      await startTask(clocked.grpc, "before");
      await clocked.kill();
      await clocked.start({ faults: failNth("append", 3, fault) });
      const answers: string[] = [];
      for (const runId of ["a", "b", "c", "d"]) {
        const answer = startTask(clocked.grpc, runId).then((reason) => reason ?? "taken");
        answers.push(await answer.catch(codeAndReason));
      }
      const taken = ["a", "b", "c", "d"].filter((_, index) => answers[index] === "taken");
      expect(taken.length).toBeLessThan(4);
      for (const answer of answers.slice(taken.length)) expect(answer).toMatch(/^UNAVAILABLE /);

      await clocked.kill();
      await clocked.start();
      for (const runId of ["before", ...taken]) {
        expect(await claimAndHold(clocked.grpc, runId)).toMatchObject({ runId, attempt: 1 });
      }
      // What was refused may be sent again, and is then one run.
      for (const runId of ["a", "b", "c", "d"]) {
        expect(await startTask(clocked.grpc, runId)).toBeUndefined();
        expect((await taskOf(clocked.grpc, runId)).name).toBe("only");
      }
      expect((await clocked.grpc.unary(run.listRuns, {})).runs).toHaveLength(5);
    },
  );
});

describe("nothing is answered or told before the disk has it:", () => {
  /** Whether something is still open once everything that could come without the disk has come. */
  async function isOpen(work: Promise<unknown>): Promise<boolean> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => undefined);
    while (clocked.disk.heldWrites === 0) await new Promise(setImmediate);
    // The answer to a question that needs no disk comes behind whatever was on its way.
    await clocked.grpc.unary(AdminService.method.getServerInfo, {});
    return !isDone;
  }

  test("neither a start, nor a claim, nor a report, nor an intent, nor a watched event", async () => {
    const { grpc, disk } = clocked;
    const held = await holdTask(grpc, "held", { timeouts: {} });
    await startTask(grpc, "ready");
    const intent = {
      holder: leaseRef(held),
      intentId: "i",
      operation: operation("pay"),
    };
    const watched = (async () => {
      for await (const { events } of grpc.stream(run.watchRun, { runId: "held" })) {
        if (events.some(({ type }) => type === "TaskCompleted")) return events.length;
      }
      return 0;
    })();
    const asks: readonly (() => Promise<unknown>)[] = [
      () => startTask(grpc, "fresh"),
      () => claimAndHold(grpc, "ready"),
      () => grpc.unary(ops.intendOperation, intent),
      () =>
        grpc.unary(ops.observeOperation, {
          ...{ holder: leaseRef(held), intentId: "i", key: "task/default/held/1/only/pay/1" },
          observation: { outcome: { case: "refused", value: { kind: "No", message: "no" } } },
        }),
      () => report(grpc, held, { output: 1 }),
    ];
    for (const ask of asks) {
      disk.holdWrites = true;
      const asked = ask();
      expect(await isOpen(Promise.race([asked, watched]))).toBe(true);
      disk.holdWrites = false;
      disk.flush();
      await asked;
    }
    expect(await watched).toBeGreaterThan(0);
    expect(clocked.faults).toEqual([]);
  });

  test("and a power cut before that leaves nothing of it", async () => {
    const { disk } = clocked;
    await startTask(clocked.grpc, "durable");
    disk.holdWrites = true;
    const asked = startTask(clocked.grpc, "lost").then(
      () => "answered",
      () => "cut",
    );
    expect(await isOpen(asked)).toBe(true);
    disk.powerCut();
    disk.holdWrites = false;
    await clocked.kill();
    expect(await asked).toBe("cut");
    await clocked.start();
    const { runs } = await clocked.grpc.unary(run.listRuns, {});
    expect(runs.map(({ runId }) => runId)).toEqual(["durable"]);
  });
});
