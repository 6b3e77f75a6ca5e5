import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RecoveryClassSchema } from "@pawl/proto/v1/recovery_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { packNumbers, unpackNumbers } from "@pawl/server/kernel/starts.js";
import { failNth, type StoreCall } from "@pawl/server/log/fault-plan.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startRun } from "../../core/support/commands.js";
import { ClockedKernel } from "../../field-reports/support/clocked-kernel.js";
import { claimAndHold, report, startTask } from "../../field-reports/support/leases.js";
import { KeptKernel } from "../retention/support/kept-kernel.js";
import { onePlan, runOf } from "./support/one-run.js";

const { method: admin } = AdminService;
const { method: runs } = RunService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
});

async function reportOfLast(): Promise<string[]> {
  const { lines } = await clocked.grpc.unary(admin.getStartReport, {});
  return lines.map(
    ({ runId, line }) =>
      `${runId} ${line?.task} ${RecoveryClassSchema.value[line?.class ?? 0]?.localName}`,
  );
}

describe("a start of a kernel", () => {
  test("is recorded with what it found, once something else is, and stays as it was", async () => {
    expect((await clocked.grpc.unary(admin.listStarts, {})).starts).toEqual([]);
    for (const runId of ["ready", "held"]) await startTask(clocked.grpc, runId);
    await claimAndHold(clocked.grpc, "held");
    await clocked.kill();
    await clocked.start();
    await expect
      .poll(async () => (await clocked.grpc.unary(admin.listStarts, {})).starts.length)
      .toBe(1);
    const [killed] = (await clocked.grpc.unary(admin.listStarts, {})).starts;
    expect(killed).toMatchObject({ number: 1, wasClosed: false, openRuns: 2n, leases: 1 });
    expect(killed?.tailEvents).toBeGreaterThan(0);
    await startTask(clocked.grpc, "later");
    await clocked.kill();
    await clocked.start();
    await expect
      .poll(async () => (await clocked.grpc.unary(admin.listStarts, {})).starts.length)
      .toBe(2);
    const [, first] = (await clocked.grpc.unary(admin.listStarts, {})).starts;
    expect(first).toEqual(killed);
  });

  test("tells of what is left when a run that was open then has been deleted since", async () => {
    for (const runId of ["kept", "deleted"]) await startTask(clocked.grpc, runId);
    await clocked.kill();
    await clocked.start();
    await startTask(clocked.grpc, "later");
    await expect.poll(reportOfLast).toEqual(["kept only WAITING", "deleted only WAITING"]);
    await clocked.grpc.unary(runs.terminateRun, { runId: "deleted", reason: "enough" });
    await clocked.grpc.unary(runs.deleteRun, { runId: "deleted", reason: "enough" });
    expect(await reportOfLast()).toEqual(["kept only WAITING"]);
  });

  test("tells what became of every task of the runs that were open then, and of no other", async () => {
    for (const runId of ["ready", "held", "lost"]) await startTask(clocked.grpc, runId);
    const held = await claimAndHold(clocked.grpc, "held");
    await claimAndHold(clocked.grpc, "lost");
    await clocked.kill();
    await clocked.start();
    await expect
      .poll(async () => (await clocked.grpc.unary(admin.listStarts, {})).starts.length)
      .toBe(1);
    await startTask(clocked.grpc, "later");
    expect(await reportOfLast()).toEqual([
      "ready only WAITING",
      "held only WAITING",
      "lost only WAITING",
    ]);
    await report(clocked.grpc, held, { output: 1 });
    expect(await reportOfLast()).toEqual([
      "ready only WAITING",
      "held only UNTOUCHED",
      "lost only WAITING",
    ]);
    const whole = await clocked.grpc.unary(admin.getStartReport, { number: 1 });
    expect(whole).toMatchObject({ runs: 3, leasesCarriedOn: 2, leasesEnded: 0, unlistedRuns: 0n });
    const pages: string[] = [];
    let pageToken = "";
    do {
      const page = await clocked.grpc.unary(admin.getStartReport, { pageSize: 1, pageToken });
      pages.push(...page.lines.map(({ runId }) => runId));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(pages).toEqual(["ready", "held", "lost"]);
  });
});

/** The starts that a kernel knows, and whether the one before had closed in order. */
async function startsOf(kept: KeptKernel): Promise<[number, boolean][]> {
  const starts = kept.kernel.starts();
  await kept.time.settle();
  return (await starts).map(({ number, wasClosed }) => [number, wasClosed]);
}

async function startRunIn(kept: KeptKernel, runId: string): Promise<void> {
  expect(await kept.reasonOf(runOf(runId), startRun(onePlan, { runId }))).toBe("accepted");
}

describe("a start after another", () => {
  test("says whether the one before had closed", async () => {
    const kept = await KeptKernel.create();
    await startRunIn(kept, "r1");
    kept.kill();
    await kept.open();
    await startRunIn(kept, "r2");
    await kept.close();
    await kept.open();
    await startRunIn(kept, "r3");
    expect(await startsOf(kept)).toEqual([
      [1, false],
      [2, true],
    ]);
    kept.kill();
    await kept.open();
    expect(await startsOf(kept)).toEqual([
      [1, false],
      [2, true],
      [3, false],
    ]);
  });

  test("is in no row before it is in the log", async () => {
    const kept = await KeptKernel.create();
    await startRunIn(kept, "r1");
    kept.kill();
    const rows: StoreCall[] = [];
    await kept.open({
      ...failNth("append", 1, "unknown-lost"),
      after: (call) => {
        if (call.verb === "putRows") rows.push(call);
      },
    });
    await kept.time.advance(10_000);
    expect(rows).not.toEqual([]);
    kept.kill();
    await kept.open();
    expect(await startsOf(kept)).toEqual([[1, false]]);
  });
});

test.each([[[]], [[1]], [[0, 127, 128, 255, 16_384, 2 ** 31, 2 ** 40]]])(
  "numbers %j are packed and unpacked",
  (numbers) => {
    expect(unpackNumbers(packNumbers(numbers))).toEqual(numbers);
  },
);
