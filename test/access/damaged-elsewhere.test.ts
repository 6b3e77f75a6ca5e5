import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { localCaller } from "@pawl/server/core/caller.js";
import { nodeRandom } from "@pawl/server/kernel/node-ports.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { runKey } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { json, leasedRun, leaseRef } from "../rpc/support/fixtures.js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { JsonClient } from "../rpc/support/json-client.js";
import { Refusal } from "../rpc/support/refusal.js";
import { createMemoryStore, testFence, testPartition, testSecret } from "../support/kernel.js";

const { method: approvals } = ApprovalService;

let disk: MemoryDisk;
let kernel: Awaited<ReturnType<typeof openKernel>>;
let server: RunningServer;

/** True: the kernel fails on whatever needs chance, as the backoff of a task does. */
let isChanceBroken: boolean;

async function open(): Promise<void> {
  isChanceBroken = false;
  kernel = await openKernel({
    secret: testSecret,
    store: disk.open({ epoch: testFence.epoch }),
    checkpoint: { beginAgeMs: 1 },
    random: {
      ...nodeRandom,
      fraction: () => {
        if (isChanceBroken) throw new Error("no chance");
        return 0.5;
      },
    },
  });
  server = await startServer({ kernel, port: 0, onFault: () => {} });
}

async function close(): Promise<void> {
  await server.close({ drainMs: 0 });
  await kernel.close();
}

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
  await open();
  await kernel.createNamespace("theirs", localCaller);
});
afterEach(close);

/** An action of the namespace `default` that waits for approval. */
async function propose(): Promise<{ id: string; fingerprint: Uint8Array }> {
  const grpc = new GrpcClient(server.port);
  const { proposal } = await grpc.unary(approvals.proposeAction, {
    ...{ operation: "wire", scope: OperationScope.NAMESPACE, key: "k", target: "t" },
    ...{ payload: json({ cents: 1 }), from: ["role:approver"] },
  });
  grpc.close();
  return {
    id: proposal?.proposalId ?? "",
    fingerprint: proposal?.fingerprint ?? new Uint8Array(32),
  };
}

async function refusal(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal))
    throw new Error(`Expected a refusal, but it is ${String(error)}`);
  return error;
}

type Client = GrpcClient | JsonClient;

/** Calls that name a run by the number in an id. */
const calls: readonly ((
  client: Client,
  namespace: string,
  made: { readonly number: number; readonly fingerprint: Uint8Array },
) => Promise<unknown>)[] = [
  (client, namespace, { number }) =>
    client.unary(approvals.getProposal, {
      namespace,
      which: { case: "proposalId", value: `${number}-p0` },
    }),
  (client, namespace, { number, fingerprint }) =>
    client.unary(approvals.decideProposal, {
      ...{ namespace, proposalId: `${number}-p0`, fingerprint, expectedVersion: 1 },
      verdict: ProposalVerdict.APPROVE,
    }),
  (client, namespace, { number }) =>
    client.unary(approvals.withdrawProposal, {
      ...{ namespace, proposalId: `${number}-p0`, expectedVersion: 1, reason: "mine" },
    }),
  (client, namespace, { number }) =>
    client.unary(approvals.revokeApproval, {
      ...{ namespace, proposalId: `${number}-p0`, expectedVersion: 1, reason: "mine" },
    }),
  (client, namespace, { number }) =>
    client.unary(ReviewService.method.getReview, { namespace, reviewId: `${number}-0` }),
];

/** What one who names it from another namespace is told of it, and of what nobody has. */
async function expectAlike(number: number, fingerprint: Uint8Array): Promise<void> {
  const grpc = new GrpcClient(server.port);
  for (const client of [grpc, new JsonClient(server.port)]) {
    for (const call of calls) {
      const there = await refusal(call(client, "theirs", { number, fingerprint }));
      const absent = await refusal(call(client, "theirs", { number: 999, fingerprint }));
      expect(there.code).toBe("NOT_FOUND");
      expect(there.reason).toBe(absent.reason);
      expect(there.message.replaceAll(`${number}-`, "…")).toBe(
        absent.message.replaceAll("999-", "…"),
      );
    }
  }
  grpc.close();
}

/** What the owner is told who reads it, and who decides about it. */
async function ownerIsTold(number: number, fingerprint: Uint8Array): Promise<string[]> {
  const client = new JsonClient(server.port);
  return await Promise.all(
    calls.slice(0, 2).map((call) =>
      call(client, "default", { number, fingerprint }).then(
        () => "answered",
        (error: unknown) => (error instanceof Refusal ? (error.reason ?? "") : String(error)),
      ),
    ),
  );
}

test("what is damaged in another namespace is not there, and in one's own it is damaged", async () => {
  const { id, fingerprint } = await propose();
  const number = Number(id.split("-")[0]);
  const key = runKey.encode({ partition: testPartition, runNumber: number });
  await vi.waitFor(() => expect(disk.flipBit(key, 300)).toBe(true), { timeout: 20_000 });
  await close();
  await open();
  await expectAlike(number, fingerprint);
  const damaged = ["PAWL_STORE_DAMAGED", "PAWL_STORE_DAMAGED"];
  expect(await ownerIsTold(number, fingerprint)).toEqual(damaged);
  // It is known to be damaged by now.
  await expectAlike(number, fingerprint);
});

test("what the kernel failed on in another namespace is not there, and in one's own it is set aside", async () => {
  const grpc = new GrpcClient(server.port);
  const holder = leaseRef(await leasedRun(grpc, "order-7"));
  const { proposal } = await grpc.unary(approvals.proposeAction, {
    ...{ holder, operation: "wire", target: "t", payload: json({ cents: 1 }) },
    from: ["role:approver"],
  });
  const number = Number(proposal?.proposalId.split("-")[0]);
  const fingerprint = proposal?.fingerprint ?? new Uint8Array(32);
  isChanceBroken = true;
  const failure = { kind: "E", message: "m", retryable: true };
  await grpc.unary(WorkerService.method.reportOutputs, {
    reports: [{ ...holder, outcome: { case: "failure", value: failure } }],
  });
  const { run } = await grpc.unary(RunService.method.getRun, { runId: "order-7" });
  expect(run?.why).toContain("set aside");
  grpc.close();
  await expectAlike(number, fingerprint);
  expect((await ownerIsTold(number, fingerprint)).at(-1)).toBe("PAWL_INTERNAL");
});
