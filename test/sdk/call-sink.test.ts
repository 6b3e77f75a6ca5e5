import { create } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { json, NotSent, operation, type SecretRef, type SecretResolver } from "@pawl/sdk";
import { callSink, type RecordedCall } from "@pawl/sdk/internal/call-sink.js";
import { Secrets } from "@pawl/sdk/internal/secrets.js";
import { monotonicMs } from "@pawl/sdk/internal/time.js";
import { ownOrigin, traceCall } from "@pawl/sdk/internal/trace-spans.js";
import { beforeEach, expect, it } from "vitest";

let calls = 0;

beforeEach(() => {
  calls = 0;
});

const pay = operation("payments.pay", {
  payload: json<{ cents: number; auth?: SecretRef }>(),
  result: json<{ id: string }>(),
  callTimeout: "10s",
  call: async () => {
    calls++;
    return { id: "p1" };
  },
});

function recordedAs(document: string, leftMs: number): RecordedCall {
  return {
    key: "task/default/r/1/t/payments.pay/1",
    uuid: "",
    target: "",
    payload: create(PayloadSchema, {
      contentType: "application/json",
      body: { case: "data", value: new TextEncoder().encode(document) },
    }),
    deadlineMs: monotonicMs() + leftMs,
    trace: traceCall("pawl.call", { operation: "payments.pay", key: "k" }, ownOrigin),
  };
}

it("tells a call whose recorded payload cannot be read as one that never left", async () => {
  const outcome = await callSink(pay, recordedAs('{"cents": 1', 10_000), () => undefined);
  expect(outcome.case).toBe("notSent");
  expect(calls).toBe(0);
});

it("tells a call whose credential did not come in time as one that never left, and makes it no more", async () => {
  let give: (value: string) => void = () => undefined;
  let signal: AbortSignal | undefined;
  const vault: SecretResolver = (_name, options) => {
    signal = options.signal;
    return new Promise((resolve) => {
      give = resolve;
    });
  };
  const recorded = {
    ...recordedAs('{"cents":1,"auth":{"$secretRef":"vault:bank"}}', 20),
    secrets: new Secrets({ vault }),
  };
  const late: unknown[] = [];
  const outcome = await callSink(pay, recorded, (told) => late.push(told));
  expect(outcome).toMatchObject({ case: "notSent", error: expect.any(NotSent) });
  expect(signal?.reason).toMatchObject({ code: "PAWL_CALL_TIMED_OUT" });
  give("q7wZx3VtLm9RbNc2");
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toBe(0);
  expect(late).toEqual([]);
});

it("leaves the outcome of a call unknown that was begun, and tells the later one", async () => {
  let answer: (value: { id: string }) => void = () => undefined;
  const slow = operation("payments.pay", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    callTimeout: "10s",
    call: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  const late: unknown[] = [];
  const recorded = recordedAs('{"cents":1}', 20);
  const outcome = await callSink(slow, recorded, (told) => late.push(told));
  expect(outcome.case).toBe("unknown");
  answer({ id: "p1" });
  await new Promise((resolve) => setImmediate(resolve));
  expect(late).toMatchObject([{ case: "result" }]);
});
