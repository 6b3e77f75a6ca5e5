import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import {
  AwaitRunSchema,
  LabelSchema,
  StartRunSchema,
  SubmitRequestSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { encodeSubmit } from "@pawl/sdk/internal/encode-submit.js";
import { describe, expect, it } from "vitest";

const plan = create(PlanSchema, {
  tasks: [{ name: "fetch", kind: "web.fetch", retry: { jitter: 0 } }],
  output: "fetch",
});

function startOf(runId: string) {
  return create(StartRunSchema, {
    runId,
    workflow: "reports",
    plan,
    input: create(PayloadSchema, {
      contentType: "application/json",
      body: { case: "data", value: new TextEncoder().encode('{"emoji":"🦀"}') },
    }),
    labels: [create(LabelSchema, { key: "team", value: "käse" })],
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    correlation: 7,
    wait: true,
  });
}

describe("a message of the Submit stream", () => {
  it("has the bytes that the generated message has", () => {
    const starts = [startOf("run-1"), startOf("run-2")];
    const waits = [create(AwaitRunSchema, { runId: "run-3", correlation: 300 })];
    const plain = create(SubmitRequestSchema, { namespace: "default", starts, waits });
    const bytes = toBinary(SubmitRequestSchema, encodeSubmit("default", starts, waits));
    expect(bytes).toEqual(toBinary(SubmitRequestSchema, plain));
    expect(fromBinary(SubmitRequestSchema, bytes)).toEqual(plain);
  });

  it("is the same whether its first field is the namespace, a start or a wait", () => {
    const starts = [startOf("run-1")];
    const waits = [create(AwaitRunSchema, { runId: "run-3", correlation: 1 })];
    for (const parts of [
      { namespace: "", starts, waits: [] },
      { namespace: "", starts: [], waits },
      { namespace: "x".repeat(200), starts: [], waits },
    ]) {
      const encoded = encodeSubmit(parts.namespace, parts.starts, parts.waits);
      expect(toBinary(SubmitRequestSchema, encoded)).toEqual(
        toBinary(SubmitRequestSchema, create(SubmitRequestSchema, parts)),
      );
    }
  });

  it("refuses a text that would not arrive as it is", () => {
    expect(() => encodeSubmit("default", [startOf("run-\ud800")], [])).toThrow(/surrogate/i);
  });
});
