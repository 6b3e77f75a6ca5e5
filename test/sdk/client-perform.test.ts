import type { MessageInitShape } from "@bufbuild/protobuf";
import type { IntentAnswerSchema } from "@pawl/proto/v1/operation_pb.js";
import {
  type Client,
  connect,
  json,
  NeedsReview,
  NotSent,
  type OperationCall,
  OperationInDoubt,
  operation,
  Refused,
} from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeKernel } from "./support/fake-kernel.js";
import { jsonPayload, textOf } from "./support/payloads.js";

type Answer = MessageInitShape<typeof IntentAnswerSchema>["answer"];

/** What the fake kernel was told, in order. */
interface Told {
  readonly method: string;
  readonly intentId: string;
  readonly outcome: string;
}

let kernel: FakeKernel;
let client: Client;
let told: Told[];
let answers: Answer[];

const proceed: Answer = {
  case: "proceed",
  value: { key: "op-key", uuid: "u-1", payload: jsonPayload('{"cents":5}'), callMs: 5_000 },
};

beforeEach(async () => {
  told = [];
  answers = [];
  kernel = await FakeKernel.start();
  kernel.onUnary("IntendOperation", (request) => record("intend", request, ""));
  kernel.onUnary("ReconcileOperation", (request) =>
    record("reconcile", request, caseOf(request, "reconciliation", "finding")),
  );
  kernel.onUnary("ObserveOperation", (request) => {
    record("observe", request, caseOf(request, "observation", "outcome"), false);
    return {};
  });
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  kernel.kill();
});

function record(method: string, request: unknown, outcome: string, answers_ = true): unknown {
  told.push({ method, intentId: String(Reflect.get(Object(request), "intentId")), outcome });
  return answers_ ? { answer: { answer: answers.shift() } } : {};
}

function caseOf(request: unknown, field: string, oneof: string): string {
  const value: unknown = Reflect.get(Object(request), field);
  return String(Reflect.get(Object(Reflect.get(Object(value), oneof)), "case"));
}

function charge(call: (op: OperationCall<{ cents: number }>) => Promise<{ id: string }>) {
  return operation("charge", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    sink: { kind: "idempotent", keyWindow: "24h" },
    call,
  });
}

const once = { scope: "namespace", key: "invoice-4711" } as const;

test("intends, calls with the recorded payload frozen, and resolves when the result is durable", async () => {
  answers = [proceed];
  const seen: OperationCall<{ cents: number }>[] = [];
  const result = await client.perform(
    charge(async (op) => {
      seen.push(op);
      return { id: "r-1" };
    }),
    { cents: 5 },
    once,
  );
  expect(result).toEqual({ id: "r-1" });
  expect(seen).toMatchObject([{ key: "op-key", uuid: "u-1", payload: { cents: 5 } }]);
  expect(Object.isFrozen(seen[0]?.payload)).toBe(true);
  expect(told.map(({ method, outcome }) => [method, outcome])).toEqual([
    ["intend", ""],
    ["observe", "result"],
  ]);
  expect(told[0]?.intentId).toBe(told[1]?.intentId);
});

test("a refusal is recorded, and thrown as it will be thrown again", async () => {
  answers = [proceed];
  const error = await client
    .perform(
      charge(async () => {
        throw new Refused("no funds", { sinkCode: "card_declined", data: { limit: 1 } });
      }),
      { cents: 5 },
      once,
    )
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Refused);
  expect(error).toMatchObject({
    message: "no funds",
    sinkCode: "card_declined",
    data: { limit: 1 },
    retryable: false,
  });
  expect(told.at(-1)?.outcome).toBe("refused");
});

test("a recorded refusal is thrown without a call", async () => {
  const refusal = {
    kind: "Refused",
    code: "card_declined",
    message: "no funds",
    data: jsonPayload('{"limit":1}'),
  };
  answers = [
    { case: "reuse", value: { key: "op-key", outcome: { case: "refusal", value: refusal } } },
  ];
  const error = await client
    .perform(
      charge(() => Promise.reject(new Error("must not be called"))),
      { cents: 5 },
      once,
    )
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    name: "Refused",
    message: "no funds",
    sinkCode: "card_declined",
    data: { limit: 1 },
  });
});

test("what never left is recorded as not sent, and thrown", async () => {
  answers = [proceed];
  const failing = charge(() => Promise.reject(new NotSent("no connection", { retryAfter: "3s" })));
  const error = await client
    .perform(failing, { cents: 5 }, once)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NotSent);
  expect(error).toMatchObject({ retryAfterMs: 3_000 });
  expect(told.at(-1)?.outcome).toBe("notSent");
});

test("an unknown outcome is recorded, then intended again under a new id, three times at most", async () => {
  answers = [proceed, proceed, proceed];
  let calls = 0;
  const failing = charge(async () => {
    calls++;
    throw new Error("connection reset");
  });
  const error = await client
    .perform(failing, { cents: 5 }, once)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(OperationInDoubt);
  expect(calls).toBe(3);
  expect(told.map(({ method, outcome }) => [method, outcome])).toEqual(
    Array.from({ length: 3 }, () => [
      ["intend", ""],
      ["observe", "unknown"],
    ]).flat(),
  );
  expect(new Set(told.map(({ intentId }) => intentId)).size).toBe(3);
});

test("a result that its schema refuses is unknown, and not called for again", async () => {
  answers = [proceed];
  const odd = operation("odd", {
    payload: json<{ cents: number }>(),
    result: {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => ({ issues: [{ message: "no id" }] }),
      },
    },
    sink: { kind: "idempotent", keyWindow: "1h" },
    call: () => ({ charged: true }),
  });
  await expect(client.perform(odd, { cents: 5 }, once)).rejects.toBeInstanceOf(OperationInDoubt);
  expect(told.map(({ outcome }) => outcome)).toEqual(["", "unknown"]);
});

test("a call that takes too long is aborted at its deadline, and what it says later is still told", async () => {
  answers = [
    {
      case: "proceed",
      value: { key: "op-key", uuid: "u", payload: jsonPayload('{"cents":5}'), callMs: 60 },
    },
    ...Array.from({ length: 100 }, () => ({
      case: "review" as const,
      value: { reviewId: "3-0", key: "op-key" },
    })),
  ];
  let finish: (value: { id: string }) => void = () => undefined;
  let reason: unknown;
  const slow = charge(
    (op) =>
      new Promise((resolve) => {
        finish = resolve;
        op.signal.addEventListener("abort", () => {
          reason = op.signal.reason;
        });
      }),
  );
  const error = await client
    .perform(slow, { cents: 5 }, { ...once, timeout: "2s" })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NeedsReview);
  expect(error).toMatchObject({ reviewId: "3-0", operationKey: "op-key" });
  expect(reason).toMatchObject({ code: "PAWL_CALL_TIMED_OUT" });
  expect(told.slice(0, 3).map(({ outcome }) => outcome)).toEqual(["", "unknown", ""]);
  finish({ id: "late" });
  await expect
    .poll(() => told.at(-1))
    .toMatchObject({ method: "observe", outcome: "result", intentId: told[0]?.intentId });
});

test("waits as told, and asks again with the same intent", async () => {
  const found = {
    outcome: { case: "result" as const, value: jsonPayload('{"id":"theirs"}') },
    key: "op-key",
  };
  answers = [
    { case: "wait", value: { notBeforeMs: 5, key: "op-key" } },
    { case: "reuse", value: found },
  ];
  const never = charge(() => Promise.reject(new Error("must not be called")));
  expect(await client.perform(never, { cents: 5 }, once)).toEqual({ id: "theirs" });
  expect(told[0]?.intentId).toBe(told[1]?.intentId);
});

test("a kernel that is away is asked again with the same intent", async () => {
  answers = [proceed];
  kernel.kill();
  const performing = client.perform(
    charge(async () => ({ id: "r" })),
    { cents: 5 },
    once,
  );
  await kernel.listen();
  expect(await performing).toEqual({ id: "r" });
});

test("a key is demanded", async () => {
  const options: { scope: "namespace"; key: string } = JSON.parse('{"scope":"namespace"}');
  await expect(
    client.perform(
      charge(async () => ({ id: "r" })),
      { cents: 5 },
      options,
    ),
  ).rejects.toMatchObject({
    code: "PAWL_DEFINITION_INVALID",
  });
  expect(textOf(undefined)).toBeUndefined();
});
