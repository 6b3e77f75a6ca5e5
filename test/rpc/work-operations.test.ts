import type { MessageInitShape } from "@bufbuild/protobuf";
import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type {
  IntentItemSchema,
  ItemResult,
  ObservationItemSchema,
  Offer,
} from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { json, jsonText, oneTask, operation, textOf } from "./support/fixtures.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: ops } = OperationService;

let server: TestServer;
let worker: TestWorker;
let offer: Offer;

beforeEach(async () => {
  server = await openTestServer();
  await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
  worker = await TestWorker.connect(server.grpc, {}, { credits: 10 });
  offer = await worker.offer();
});
afterEach(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

let lastCorrelation = 0;

function intent(
  intentId: string,
  what: MessageInitShape<typeof IntentItemSchema>["operation"],
): MessageInitShape<typeof IntentItemSchema> & { readonly correlation: number } {
  const { handle, leaseVersion } = offer;
  const base = { handle, leaseVersion, intentId, correlation: ++lastCorrelation };
  return what === undefined ? base : { ...base, operation: what };
}

/** Intends and gives the whole answer. */
async function intend(
  intentId: string,
  what: MessageInitShape<typeof IntentItemSchema>["operation"],
): Promise<ItemResult> {
  const item = intent(intentId, what);
  worker.send({ intents: [item] });
  const answer = await worker.answer(item.correlation);
  if (answer === "accepted") {
    throw new Error("Expected an answer to the intent.");
  }
  return answer;
}

async function observe(
  item: MessageInitShape<typeof ObservationItemSchema>,
): Promise<ItemResult | "accepted"> {
  const { handle, leaseVersion } = offer;
  const correlation = ++lastCorrelation;
  const base: MessageInitShape<typeof ObservationItemSchema> = {
    handle,
    leaseVersion,
    correlation,
  };
  worker.send({ observations: [Object.assign(base, item)] });
  return await worker.answer(correlation);
}

type Answer = NonNullable<ItemResult["intent"]>["answer"];
type AnswerOf<C extends Answer["case"]> = Extract<Answer, { readonly case: C }>;

/** The answer of one case; anything else fails. */
function expectCase<C extends "proceed" | "reuse" | "lookUp" | "wait" | "review">(
  result: ItemResult,
  wanted: C,
): NonNullable<AnswerOf<C>["value"]> {
  const { answer } = result.intent ?? {};
  const found: Readonly<Record<string, unknown>> = { [answer?.case ?? ""]: answer?.value };
  if (answer?.case !== wanted) {
    throw new Error(`Expected ${wanted}, but it is ${answer?.case ?? result.rejection?.reason}.`);
  }
  return found[wanted] as NonNullable<AnswerOf<C>["value"]>;
}

const unknown = { outcome: { case: "unknown", value: { kind: "Timeout" } } } as const;
const done = { outcome: { case: "result", value: json({ receipt: 7 }) } } as const;

test("an intent proceeds with the recorded content, its key and its UUID", async () => {
  const proceed = expectCase(await intend("i1", operation("pay")), "proceed");
  expect(proceed).toMatchObject({
    key: "task/default/r/1/only/pay/1",
    callMs: 60_000,
    planVersion: 1,
  });
  expect(proceed.uuid).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  expect(textOf(proceed.payload)).toBe('{"cents":100}');
});

test("the same intent sent again gets the same answer; another one waits", async () => {
  const { key } = expectCase(await intend("i1", operation("pay")), "proceed");
  const again = expectCase(await intend("i1", operation("pay")), "proceed");
  expect(again.key).toBe(key);
  expect(again.callMs).toBeLessThanOrEqual(60_000);
  const wait = expectCase(await intend("i2", operation("pay")), "wait");
  expect(wait.key).toBe(key);
  expect(wait.notBeforeMs).toBeGreaterThan(50_000);
});

test("content that differs only as JSON text is the same operation; anything else is a conflict", async () => {
  const spaced = operation("pay", SinkKind.OPAQUE, { payload: jsonText('{ "cents" : 1e2 }') });
  expectCase(await intend("i1", operation("pay")), "proceed");
  expectCase(await intend("i1", spaced), "proceed");
  const other = operation("pay", SinkKind.OPAQUE, { payload: json({ cents: 101 }) });
  expect((await intend("i1", other)).rejection).toMatchObject({
    reason: "PAWL_FINGERPRINT_CONFLICT",
    detail: { value: { entity: "operation", differs: "payload" } },
  });
});

test("JSON that two readers may understand differently is refused by name", async () => {
  const twice = operation("pay", SinkKind.OPAQUE, { payload: jsonText('{"a":1,"a":2}') });
  expect((await intend("i1", twice)).rejection).toMatchObject({
    reason: "PAWL_INVALID_FIELD",
    detail: { value: { field: "operation.payload.data" } },
  });
});

test("an observed result is used again, with the time of its observation", async () => {
  const { key } = expectCase(await intend("i1", operation("pay")), "proceed");
  expect(await observe({ key, intentId: "i1", observation: done })).toBe("accepted");
  expect(await observe({ key, intentId: "i1", observation: done })).toMatchObject({
    existing: true,
  });
  const reuse = expectCase(await intend("i2", operation("pay")), "reuse");
  expect(reuse).toMatchObject({ key, reconciled: false, outcome: { case: "result" } });
  expect(reuse.observedAt).toBeDefined();
});

test("a refusal of the sink is used again as a refusal", async () => {
  const { key } = expectCase(await intend("i1", operation("pay")), "proceed");
  const refused = { case: "refused", value: { kind: "Declined", message: "no funds" } } as const;
  await observe({ key, intentId: "i1", observation: { outcome: refused } });
  const reuse = expectCase(await intend("i2", operation("pay")), "reuse");
  expect(reuse.outcome).toMatchObject({ case: "refusal", value: { kind: "Declined" } });
});

test("an unknown outcome at a reconcilable sink is looked up; absent calls again", async () => {
  const what = operation("pay", SinkKind.RECONCILABLE, { callTimeoutMs: 1 });
  const { key } = expectCase(await intend("i1", what), "proceed");
  await observe({ key, intentId: "i1", observation: unknown });
  const lookUp = expectCase(await intend("i2", what), "lookUp");
  expect(lookUp).toMatchObject({ key, intentId: "i1" });
  expect(textOf(lookUp.payload)).toBe('{"cents":100}');
  expect(lookUp.intendedAt).toBeDefined();
  const correlation = ++lastCorrelation;
  const { handle, leaseVersion } = offer;
  worker.send({
    reconciliations: [
      {
        ...{ handle, leaseVersion, correlation, key, intentId: "i3", lookedUpIntentId: "i1" },
        reconciliation: { finding: { case: "absent", value: {} } },
      },
    ],
  });
  const answer = await worker.answer(correlation);
  expectCase(answer === "accepted" ? failAccepted() : answer, "proceed");
});

function failAccepted(): never {
  throw new Error("Expected an answer.");
}

test("an unknown outcome at an opaque sink goes to a person, and the lease ends", async () => {
  const what = operation("pay", SinkKind.OPAQUE, { callTimeoutMs: 1 });
  const { key } = expectCase(await intend("i1", what), "proceed");
  await observe({ key, intentId: "i1", observation: unknown });
  let answer = await intend("i2", what);
  for (let more = 3; answer.intent?.answer.case === "wait"; more++) {
    answer = await intend(`i${more}`, what);
  }
  const { reviewId } = expectCase(answer, "review");
  expect(await worker.lost(offer.handle)).toBe("review");
  const { reviews } = await server.grpc.unary(ReviewService.method.listReviews, {});
  expect(reviews).toMatchObject([
    { reviewId, runId: "r", task: "only", operationKey: key, version: 1 },
  ]);
  expect(reviews[0]?.choices).toEqual([
    ReviewChoice.DONE,
    ReviewChoice.RETRY,
    ReviewChoice.NOT_DONE,
    ReviewChoice.ABANDON,
    ReviewChoice.FAIL,
  ]);
  const decision = {
    reviewId,
    expectedVersion: 1,
    choice: ReviewChoice.DONE,
    result: json({ receipt: 8 }),
    reason: "the bank says so",
  };
  const resolved = await server.grpc.unary(ReviewService.method.resolveReview, decision);
  expect(resolved.existing).toBe(false);
  const again = await server.grpc.unary(ReviewService.method.resolveReview, decision);
  expect(again.existing).toBe(true);
  const { result: _, ...undone } = decision;
  const other = { ...undone, choice: ReviewChoice.RETRY };
  await expect(server.grpc.unary(ReviewService.method.resolveReview, other)).rejects.toThrow(
    `Expected review ${decision.reviewId} to be given the choice that is recorded, but this is another one. The recorded decision stays. Next: read it`,
  );
  worker.send({ credits: 1 });
  offer = await worker.offer();
  const reuse = expectCase(await intend("last", what), "reuse");
  expect(reuse).toMatchObject({ reconciled: true });
});

test("an observation is taken also after its lease is gone", async () => {
  const { key } = expectCase(await intend("i1", operation("pay")), "proceed");
  await server.grpc.unary(run.terminateRun, { runId: "r" });
  expect(await worker.lost(offer.handle)).toBe("terminated");
  const late = await observe({ handle: 0, runId: "r", key, intentId: "i1", observation: done });
  expect(late).toBe("accepted");
  const { operation: read } = await server.grpc.unary(ops.getOperation, { key });
  expect(read).toMatchObject({ status: OperationStatus.OBSERVED, reconciled: true, calls: 1 });
});

test("an operation of scope NAMESPACE is one across runs", async () => {
  const invoice = operation("pay", SinkKind.OPAQUE, {
    scope: OperationScope.NAMESPACE,
    key: "invoice-4711",
  });
  const { key } = expectCase(await intend("i1", invoice), "proceed");
  expect(key).toBe("namespace/default/pay/invoice-4711");
  expect(await observe({ key, intentId: "i1", observation: done })).toBe("accepted");
  const elsewhere = await server.json.unary(ops.intendOperation, {
    intentId: "from a cron job",
    operation: invoice,
  });
  expect(elsewhere.answer?.answer).toMatchObject({ case: "reuse", value: { key } });
  const { operations } = await server.grpc.unary(ops.listOperations, {});
  expect(operations).toMatchObject([{ key, runId: "", task: "", calls: 1 }]);
});

test("an operation is read with its contents, and listed without", async () => {
  const { key } = expectCase(await intend("i1", operation("pay")), "proceed");
  await observe({ key, intentId: "i1", observation: done });
  const { operation: read } = await server.json.unary(ops.getOperation, { key });
  expect(read).toMatchObject({
    ...{ key, runId: "r", task: "only", name: "pay", target: "account-1", calls: 1 },
    status: OperationStatus.OBSERVED,
    sinkKind: SinkKind.OPAQUE,
  });
  expect(textOf(read?.payload)).toBe('{"cents":100}');
  expect(textOf(read?.result)).toBe('{"receipt":7}');
  expect(read?.fingerprint).toHaveLength(32);
  const { operations } = await server.json.unary(ops.listOperations, { runId: "r" });
  expect(operations).toHaveLength(1);
  expect(operations[0]?.payload).toBeUndefined();
  expect(operations[0]?.result).toBeUndefined();
});

test("large content of an operation in scope NAMESPACE lies with the operation, not with the run that performs it", async () => {
  const large = operation("mail", SinkKind.OPAQUE, {
    scope: OperationScope.NAMESPACE,
    key: "invoice-7",
    payload: json("x".repeat(40_000)),
  });
  const { key, payload } = expectCase(await intend("i1", large), "proceed");
  const result = json("y".repeat(50_000));
  const observation = { outcome: { case: "result", value: result } } as const;
  expect(await observe({ key, intentId: "i1", observation })).toBe("accepted");
  const { operation: stored } = await server.grpc.unary(ops.getOperation, { key });
  const read = async (content: Payload | undefined): Promise<number> => {
    const sha256 = content?.body.case === "blob" ? content.body.value.sha256 : new Uint8Array(0);
    let bytes = 0;
    for await (const { data } of server.grpc.stream(run.readBlob, { operationKey: key, sha256 })) {
      bytes += data.length;
    }
    return bytes;
  };
  expect(await read(payload)).toBe(40_002);
  expect(await read(stored?.result)).toBe(50_002);
});
