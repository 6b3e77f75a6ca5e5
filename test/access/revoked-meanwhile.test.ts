// A request may have to wait before it becomes a command: for a run to be read, for content to be stored, for a schema to be checked. When its token
// is revoked meanwhile, nothing more is done in its name.
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { KernelApi } from "@pawl/server/kernel/kernel-api.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, json, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import type { RpcClient } from "../rpc/support/rpc-client.js";
import { TestWorker } from "../rpc/support/worker.js";
import { type GuardedServer, type Minted, openGuardedServer } from "./support.js";

const { method: run } = RunService;
const large = json("x".repeat(40_000));
const inDefault = (...roles: string[]) => [{ namespace: "default", roles }];

let server: GuardedServer;
let gone: Minted;
let calm: RpcClient;
/** Called before content is stored, which waits for it. */
let beforeStored: () => Promise<void>;
/** Called when content was stored. */
let onStored: () => void;

beforeEach(async () => {
  beforeStored = async () => {};
  onStored = () => {};
  server = await openGuardedServer({
    before: (kernel) =>
      new Proxy(kernel, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          return name === "admitPayload"
            ? async (...args: Parameters<KernelApi["admitPayload"]>) => {
                await beforeStored();
                const stored = await target.admitPayload(...args);
                onStored();
                return stored;
              }
            : value.bind(target);
        },
      }),
  });
  gone = await server.mint("gone", inDefault("worker", "client"));
  calm = server.grpcWith(
    (await server.mint("calm", inDefault("worker", "client", "operator"))).token,
  );
});
afterEach(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

/** The token is revoked while the next content waits to be stored. Gives when that is stored. */
function revokeWhileStoring(): Promise<void> {
  beforeStored = async () => {
    await server.edit((entries) => entries.filter(({ id }) => id !== gone.id));
    await server.mint("later", inDefault("client")); // It counts, so the other counts no more.
  };
  return new Promise((resolve) => {
    onStored = resolve;
  });
}

const revoked = "UNAUTHENTICATED PAWL_UNAUTHENTICATED";

describe("with a token that is revoked while its content is stored", () => {
  test.each(["grpc", "json"] as const)("no run is started over %s", async (protocol) => {
    const client = protocol === "grpc" ? server.grpcWith(gone.token) : server.jsonWith(gone.token);
    const stored = revokeWhileStoring();
    const runs = [oneTask("r", "k", { input: large })];
    const said = client.unary(run.startRuns, { runs }).then(() => "started", codeAndReason);
    expect(await said).toBe(revoked);
    await stored;
    await settled();
    expect((await calm.unary(run.listRuns, {})).runs).toEqual([]);
  });

  test("nothing is proposed", async () => {
    const stored = revokeWhileStoring();
    const proposing = server.grpcWith(gone.token).unary(ApprovalService.method.proposeAction, {
      ...{ operation: "pay", scope: OperationScope.NAMESPACE, key: "1", target: "t" },
      payload: large,
    });
    expect(await proposing.then(() => "proposed", codeAndReason)).toBe(revoked);
    await stored;
    await settled();
    const { proposals } = await calm.unary(ApprovalService.method.listProposals, {});
    expect(proposals).toEqual([]);
  });

  test("no step is recorded by a call", async () => {
    await calm.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const client = server.grpcWith(gone.token);
    const lease = leaseRef(await claim(client, "k"));
    const stored = revokeWhileStoring();
    const steps = [{ name: "s", outcome: { case: "value" as const, value: large } }];
    const recording = client.unary(WorkerService.method.recordSteps, { lease, steps });
    expect(await recording.then(() => "recorded", codeAndReason)).toBe(revoked);
    await stored;
    await settled();
    expect(await stepsOf("r")).toEqual([]);
  });

  test("no step is recorded by a stream", async () => {
    await calm.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const worker = await TestWorker.connect(server.grpcWith(gone.token), {});
    worker.send({ credits: 1 });
    const { handle } = await worker.offer();
    const stored = revokeWhileStoring();
    const item = { handle, leaseVersion: 1, correlation: 7, name: "s" };
    worker.send({ steps: [{ ...item, outcome: { case: "value", value: large } }] });
    expect(codeAndReason(await worker.stream.ended())).toBe(revoked);
    await stored;
    await settled();
    expect(await stepsOf("r")).toEqual([]);
  });

  test("no run is started by a stream", async () => {
    const submit = server.grpcWith(gone.token).duplex(run.submit);
    const stored = revokeWhileStoring();
    submit.send({ starts: [{ ...oneTask("r", "k", { input: large }), correlation: 1 }] });
    expect(codeAndReason(await submit.ended())).toBe(revoked);
    await stored;
    await settled();
    expect((await calm.unary(run.listRuns, {})).runs).toEqual([]);
  });
});

/** What was let in has come to its end: a later request of another is answered after it. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await calm.unary(run.listRuns, {});
  }
}

async function stepsOf(runId: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { events } of calm.stream(run.getHistory, { runId })) {
    types.push(...events.map(({ type }) => type).filter((type) => type === "StepRecorded"));
  }
  return types;
}
