import { createHash } from "node:crypto";
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { LeaseRefSchema, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { canaries } from "../content/support/canaries.js";
import { contentPathsOf } from "./support/content-paths.js";
import { eachTestServer } from "./support/each-test-server.js";
import { json, leasedRun, leaseRef, oneTask, operation, textOf } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";
import type { RpcClient } from "./support/rpc-client.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: work } = WorkerService;
const { method: ops } = OperationService;
const { method: admin } = AdminService;
const { REFUSE, REDACT, ALLOW } = CredentialMode;

const server = eachTestServer();
const token = canaries[2]?.value ?? "";

const setMode = (mode: CredentialMode, expectedVersion?: number) =>
  server.grpc.unary(admin.setCredentialPolicy, {
    mode,
    ...(expectedVersion === undefined ? {} : { expectedVersion }),
  });

const services = [RunService, WorkerService, OperationService, ApprovalService, ReviewService];

/** They record nothing of what they are asked. */
const reading = /^(?:Get|List|Watch|Read|Query|Await)|^(?:Submit|Work)$/;

/** What tells what has happened is redacted instead: failures, observations, progress, live output. */
const telling =
  /(?:^|\.)(?:failure|cancelled|cause|refused|not_sent|unknown|found)(?:\.|$)|^(?:observation|reconciliation|progress|chunks)(?:\.|$)/;

type Answering = DescMethodUnary | DescMethodServerStreaming;

const isAnswering = (method: DescMethod): method is DescMethod & Answering =>
  method.methodKind === "unary" || method.methodKind === "server_streaming";

/** Every content of every request, by method. */
const places = services
  .flatMap((service): readonly DescMethod[] => service.methods)
  .filter(isAnswering)
  .filter(({ name }) => !reading.test(name))
  .flatMap((method) => contentPathsOf(method.input).map((place) => ({ ...place, method })));

describe.each(["grpc", "json"] as const)("over %s", (protocol) => {
  test("every content of every request is refused that holds a credential", async () => {
    const client = server[protocol];
    const lease = leaseRef(await leasedRun(client, "leased"));
    expect(places.length).toBeGreaterThan(100);
    for (const { method, path, make } of places) {
      const request = make(token);
      if (method.input.field["lease"] !== undefined && !path.startsWith("lease")) {
        Reflect.set(request, "lease", create(LeaseRefSchema, lease));
      }
      const { reason, all } = await reasonOf(() => callOnce(client, method, request));
      const name = `${method.name} ${path}: ${reason}`;
      expect(all, name).not.toContain(token);
      const isTold = telling.test(path.replace(/^(?:reports|steps)\./, ""));
      expect(reason.endsWith("PAWL_CREDENTIAL_IN_PAYLOAD"), name).toBe(
        !isTold || path.endsWith(".channel"),
      );
    }
  });
});

async function callOnce<M extends Answering>(
  client: RpcClient,
  method: M,
  request: MessageInitShape<M["input"]>,
): Promise<unknown> {
  if (method.methodKind === "unary") {
    return await client.unary(method, request);
  }
  for await (const answer of client.stream(method, request)) {
    return answer;
  }
  return undefined;
}

/** Why it was refused: as a whole, or its only item. */
async function reasonOf(
  call: () => Promise<unknown>,
): Promise<{ readonly reason: string; readonly all: string }> {
  try {
    const results: unknown = Reflect.get(Object(await call()), "results");
    const first: unknown = Array.isArray(results) ? results[0] : undefined;
    const rejection: unknown = Reflect.get(Object(first), "rejection");
    const { reason = "none", message = "" } = Object(rejection);
    return { reason: String(reason), all: String(message) };
  } catch (error) {
    return { reason: codeAndReason(error), all: String(error) };
  }
}

test.each(canaries)(
  "$rule in an input is refused by path, and nothing of it is told",
  async ({ rule, value }) => {
    const input = json({ config: [{ at: `x ${value} y` }] });
    const { results } = await server.grpc.unary(run.startRuns, {
      runs: [oneTask("with", "k", { input }), oneTask("without", "k")],
    });
    const [refused, accepted] = results;
    expect(refused?.rejection?.detail).toMatchObject({
      case: "credentialInPayload",
      value: { field: "input", path: "$.config[0].at", rule },
    });
    expect(refused?.rejection?.message).not.toContain(value.slice(0, 12));
    expect(accepted?.rejection).toBeUndefined();
  },
);

test("items on a worker's stream are refused one by one; what tells what has happened is redacted", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
  const worker = await TestWorker.connect(server.grpc, {}, { credits: 1 });
  const { handle, leaseVersion } = await worker.offer();
  const lease = { handle, leaseVersion };
  worker.send({
    progress: [{ handle, progress: json({ at: token }) }],
    intents: [{ ...lease, correlation: 1, intentId: "i", operation: operation("pay") }],
  });
  const intent = await worker.answer(1);
  if (intent === "accepted" || intent.intent?.answer.case !== "proceed") throw new Error("refused");
  const { key } = intent.intent.answer.value;
  const outcome = { case: "result", value: json({ token }) } as const;
  worker.send({
    observations: [{ ...lease, correlation: 2, key, intentId: "i", observation: { outcome } }],
  });
  expect(await worker.answer(2)).toBe("accepted");
  worker.send({
    steps: [
      { ...lease, correlation: 3, name: "s", outcome: { case: "value", value: json([token]) } },
    ],
  });
  expect(await worker.reason(3)).toBe("PAWL_CREDENTIAL_IN_PAYLOAD");
  const failure = {
    kind: "Error",
    message: `the sink said ${token}`,
    stack: `at ${token}`,
    retryable: false,
  };
  worker.send({
    pong: worker.lastPing,
    reports: [{ ...lease, correlation: 4, outcome: { case: "failure", value: failure } }],
  });
  expect(await worker.answer(4)).toBe("accepted");
  const { operation: recorded } = await server.grpc.unary(ops.getOperation, { key });
  expect(textOf(recorded?.result)).toBe('{"token":"[redacted:github-token]"}');
  const { result } = await server.grpc.unary(run.getResult, { runId: "r" });
  expect(result?.failure?.cause?.message).toBe("the sink said [redacted:github-token]");
});

test("a namespace may redact: digests are those of what is stored", async () => {
  await setMode(REDACT);
  const input = json({ a: `Bearer ${token}`, n: 1 });
  const other = json({ a: `Bearer ${canaries[3]?.value}`, n: 1 });
  const { results } = await server.grpc.unary(run.startRuns, {
    runs: [oneTask("r", "k", { input }), oneTask("r", "k", { input: other })],
  });
  expect(results.map(({ existing, rejection }) => rejection?.reason ?? existing)).toEqual([
    false,
    true,
  ]);
  const stored = await server.kernel.view(
    { kind: "run", namespace: "default", runId: "r" },
    (found) => Buffer.from(found.input ?? []).toString("latin1"),
  );
  expect(stored).toContain('{"a":"[redacted:');
  expect(stored).not.toContain(token);
  const refused = await server.grpc.unary(run.startRuns, { runs: [oneTask(token, "k")] });
  expect(refused.results[0]?.rejection?.reason).toBe("PAWL_CREDENTIAL_IN_PAYLOAD");
});

test("a namespace may allow, and the policy is versioned", async () => {
  const first = await setMode(ALLOW, 0);
  expect(first.policy).toMatchObject({
    namespace: "default",
    mode: ALLOW,
    version: 1,
    changedBy: "local",
  });
  expect((await setMode(ALLOW, 0)).existing).toBe(true);
  const input = json({ a: token });
  const { results } = await server.grpc.unary(run.startRuns, {
    runs: [oneTask("r", "k", { input })],
  });
  expect(results[0]?.rejection).toBeUndefined();
  expect(codeAndReason(await setMode(REFUSE, 7).catch((error: unknown) => error))).toBe(
    "FAILED_PRECONDITION PAWL_STALE_VERSION",
  );
  expect((await server.json.unary(admin.getCredentialPolicy, {})).policy?.mode).toBe(ALLOW);
});

test("a large content is refused before any of it is stored", async () => {
  const offer = await leasedRun(server.grpc, "large");
  const text = `${createHash("sha256").update("x").digest("hex").repeat(2_000)} ${token}`;
  const { results } = await server.grpc.unary(work.recordSteps, {
    lease: leaseRef(offer),
    steps: [{ name: "s", outcome: { case: "value", value: json({ text }) } }],
  });
  expect(results[0]?.rejection?.reason).toBe("PAWL_CREDENTIAL_IN_PAYLOAD");
});
