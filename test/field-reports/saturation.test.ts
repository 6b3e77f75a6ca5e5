import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, leasedRun, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { claimAndHold, renew, report, startTask } from "./support/leases.js";

const { method: run } = RunService;
const { method: approvals } = ApprovalService;
const { method: ops } = OperationService;

/** Starts wait once this much is in no rows, and rows are written only when a test lets the time pass. */
const checkpoint = { lagBytes: 20_000, beginBytes: 1e9, beginAgeMs: 3_600_000 };
/** More than may wait. */
const batches = 24;
/** So many wait at least, before anything else is asked. */
const many = 10_000;

let clocked: ClockedKernel;
let flooding: GrpcClient[];

beforeEach(async () => {
  clocked = await ClockedKernel.open();
  await clocked.kill();
  await clocked.start({ checkpoint });
  flooding = [];
});

afterEach(async () => {
  for (const client of flooding) client.close();
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

/** Starts that are sent and not answered, over several connections, as many as the kernel keeps and more; gives what comes of each. */
async function flood(): Promise<Promise<string[]>[]> {
  const port = Number(new URL(clocked.url).port);
  flooding = Array.from({ length: 4 }, () => new GrpcClient(port));
  const sent = Array.from({ length: batches }, async (_, batch) => {
    const runs = Array.from({ length: 1_000 }, (__, index) =>
      oneTask(`flood-${batch}-${index}`, "nobody"),
    );
    const client = flooding[batch % flooding.length];
    const answer = await client?.unary(run.startRuns, { runs });
    return answer?.results.map(({ rejection }) => rejection?.reason ?? "started") ?? [];
  });
  for (const each of sent) each.catch(() => "looked at by who waits for it");
  await expect
    .poll(() => clocked.kernel.gauges().postponedStarts, { timeout: 30_000 })
    .toBeGreaterThan(many);
  return sent;
}

describe("a kernel that is asked for more than it can take", () => {
  test("still cancels, terminates, pauses, decides, takes answers, claims, intents, renewals and reports, and in the end what waited", async () => {
    const { grpc } = clocked;
    for (const runId of ["unwanted", "stuck", "paused", "ready", "signalled"]) {
      await startTask(grpc, runId);
    }
    const working = await leasedRun(grpc, "working");
    const action = { operation: "refund", target: "till", payload: json({ cents: 1 }) };
    const { proposal } = await grpc.unary(approvals.proposeAction, {
      ...{ ...action, holder: leaseRef(working), requesterMayDecide: true },
    });
    const { proposalId = "", fingerprint = new Uint8Array() } = proposal ?? {};
    const sent = await flood();

    await grpc.unary(run.cancelRun, { runId: "unwanted", reason: "no need" });
    await grpc.unary(run.terminateRun, { runId: "stuck", reason: "at once" });
    await grpc.unary(run.pauseRun, { runId: "paused", reason: "to look" });
    await grpc.unary(run.resumeRun, { runId: "paused" });
    await grpc.unary(run.sendSignal, { runId: "signalled", name: "go", requestId: "1" });
    const decision = { proposalId, fingerprint, expectedVersion: 1, reason: "seen" };
    await grpc.unary(approvals.decideProposal, { ...decision, verdict: ProposalVerdict.APPROVE });
    const { answer } = await grpc.unary(ops.intendOperation, {
      ...{ holder: leaseRef(working), intentId: "i1" },
      operation: {
        ...{ name: "refund", target: "till", payload: action.payload },
        sink: { kind: SinkKind.OPAQUE },
      },
    });
    expect(answer?.answer.case).toBe("proceed");
    await grpc.unary(ops.observeOperation, {
      ...{ holder: leaseRef(working), intentId: "i1", key: answer?.answer.value?.key ?? "" },
      observation: { outcome: { case: "result", value: json("done") } },
    });
    expect(await renew(grpc, working)).toBeUndefined();
    expect(await report(grpc, working, { output: 1 })).toBe("accepted");
    const claimed = await claimAndHold(grpc, "ready");
    expect(await report(grpc, claimed, { output: 1 })).toBe("accepted");
    const statuses: (RunStatus | undefined)[] = [];
    for (const runId of ["unwanted", "stuck", "paused", "working", "ready"]) {
      statuses.push((await grpc.unary(run.getRun, { runId })).run?.status);
    }
    expect(statuses).toEqual([
      ...[RunStatus.CANCELLED, RunStatus.TERMINATED, RunStatus.RUNNING],
      ...[RunStatus.COMPLETED, RunStatus.COMPLETED],
    ]);
    // All of that went by what waits: none of it has begun meanwhile.
    expect(clocked.kernel.gauges().postponedStarts).toBeGreaterThan(many);

    await clocked.kill();
    for (const answers of sent) await answers.catch(() => []);
    await clocked.start();
    await clocked.kernel.openWorkKnown;
    expect(await startTask(clocked.grpc, "afterwards")).toBeUndefined();
  });

  test("takes what waited when the disk has caught up, each start once", async () => {
    const sent = await flood();
    let isOver = false;
    const answers = Promise.all(sent).finally(() => {
      isOver = true;
    });
    while (!isOver) await clocked.time.pass(600_000);
    const said = (await answers).flat();
    const started = said.filter((reason) => reason === "started").length;
    const others = said.filter((reason) => reason !== "started" && reason !== "PAWL_OVERLOADED");
    expect(others).toEqual([]);
    expect(said).toHaveLength(batches * 1_000);
    expect(started).toBeGreaterThan(many);
    expect(clocked.kernel.gauges().openRuns).toBe(started);
  });
});
