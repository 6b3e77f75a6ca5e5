import { create } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { json, operation } from "@pawl/sdk";
import { callSink } from "@pawl/sdk/internal/call-sink.js";
import { monotonicMs } from "@pawl/sdk/internal/time.js";
import { ownOrigin, traceCall } from "@pawl/sdk/internal/trace-spans.js";
import { expect, it } from "vitest";

it("tells a call whose recorded payload cannot be read as one that never left", async () => {
  let calls = 0;
  const pay = operation("payments.pay", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    callTimeout: "10s",
    call: async () => {
      calls++;
      return { id: "p1" };
    },
  });
  const recorded = {
    key: "task/default/r/1/t/payments.pay/1",
    uuid: "",
    target: "",
    payload: create(PayloadSchema, {
      contentType: "application/json",
      body: { case: "data", value: new TextEncoder().encode('{"cents": 1') },
    }),
    deadlineMs: monotonicMs() + 10_000,
    trace: traceCall("pawl.call", { operation: "payments.pay", key: "k" }, ownOrigin),
  };
  const outcome = await callSink(pay, recorded, () => undefined);
  expect(outcome.case).toBe("notSent");
  expect(calls).toBe(0);
});
