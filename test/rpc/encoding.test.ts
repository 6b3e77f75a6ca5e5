import { create, toBinary } from "@bufbuild/protobuf";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { RunService, StartRunsRequestSchema } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete, json, leasedRun, leaseRef, oneTask, textOf } from "./support/fixtures.js";
import { codeAndReason, Refusal } from "./support/refusal.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

const { method: run } = RunService;

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) {
    throw new Error(`Expected a refusal, but it is ${error}.`);
  }
  return error;
}

describe("a message above the bound", () => {
  const large = { runs: [oneTask("large", "k", { input: json("x".repeat(5_000_000)) })] };

  test("has a reason of its own over gRPC, and is not to be sent again", async () => {
    const refusal = await refusalOf(server.grpc.unary(run.startRuns, large));
    expect(codeAndReason(refusal)).toBe("INVALID_ARGUMENT PAWL_TOO_LARGE");
    expect(refusal.message).toContain("4194304");
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  test("has the same reason over Connect JSON", async () => {
    const refusal = await refusalOf(server.json.unary(run.startRuns, large));
    expect(codeAndReason(refusal)).toBe("INVALID_ARGUMENT PAWL_TOO_LARGE");
    expect(refusal.retryAfterMs).toBeUndefined();
  });

  test("has it also when its length was not announced", async () => {
    const chunk = Buffer.from(" ".repeat(1_000_000));
    const body = new ReadableStream({
      start: (controller) => {
        for (let count = 0; count < 5; count++) {
          controller.enqueue(chunk);
        }
        controller.close();
      },
    });
    const response = await server.json.fetch("/pawl.v1.RunService/GetRun", {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body },
      ...{ duplex: "half" },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: "invalid_argument",
      details: [{ type: "google.rpc.ErrorInfo" }, { type: "pawl.v1.Rejection" }],
    });
  });

  test("on a stream ends it with the same reason", async () => {
    const submit = server.grpc.duplex(run.submit);
    submit.send({ starts: large.runs });
    expect(codeAndReason(await submit.ended())).toBe("INVALID_ARGUMENT PAWL_TOO_LARGE");
  });

  test("leaves the kernel unharmed", async () => {
    expect((await server.grpc.unary(run.listRuns, {})).runs).toEqual([]);
  });
});

describe("bytes that are no message", () => {
  test.each([
    ["foreign", Buffer.from("<html><body>502 Bad Gateway</body></html>")],
    ["truncated", Buffer.from([0x12, 0x7f, 0x01])],
    ["not UTF-8", Buffer.from([0x12, 0x02, 0xc3, 0x28])],
  ])("%s, are refused by name over gRPC", async (_name, bytes) => {
    const refusal = await refusalOf(server.grpc.unaryBytes(run.getRun, bytes));
    expect(codeAndReason(refusal)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    expect(refusal.rejection?.detail.value).toMatchObject({ field: "(message)" });
  });

  test.each([
    ["HTML", "<html><body>502 Bad Gateway</body></html>"],
    ["cut off", '{"runId":"a"'],
    ["of another type", '{"runId":5}'],
  ])("%s, are refused by name over Connect JSON", async (_name, body) => {
    const refusal = await refusalOf(server.json.post(run.getRun, body));
    expect(codeAndReason(refusal)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  });

  test("are refused by name over Connect's binary form too", async () => {
    const response = await server.json.fetch("/pawl.v1.RunService/GetRun", {
      method: "POST",
      headers: { "content-type": "application/proto" },
      body: Buffer.from([0x12, 0x7f, 0x01]),
    });
    expect(response.status).toBe(400);
    const { code, details } = JSON.parse(await response.text());
    expect(code).toBe("invalid_argument");
    expect(details.map(({ type }: { type: string }) => type)).toContain("pawl.v1.Rejection");
  });
});

describe("a stream whose request is no message", () => {
  test.each([
    ["of Connect's binary form", "application/connect+proto", [0, 0, 0, 0, 3, 0x12, 0x7f, 0x01]],
    ["of Connect JSON", "application/connect+json", [0, 0, 0, 0, 1, 0x7b]],
    ["compressed in no known way", "application/connect+json", [1, 0, 0, 0, 2, 0x7b, 0x7d]],
  ])("%s ends by name", async (_name, type, bytes) => {
    const response = await server.json.fetch("/pawl.v1.RunService/WatchRun", {
      method: "POST",
      headers: { "content-type": type },
      body: Buffer.from(bytes),
    });
    const answer = Buffer.from(await response.arrayBuffer());
    expect(answer[0]).toBe(2);
    expect(answer.readUInt32BE(1)).toBe(answer.length - 5);
    const { error } = JSON.parse(answer.subarray(5).toString("utf8"));
    expect(error.code).toBe("invalid_argument");
    expect(error.details.map(({ type: each }: { type: string }) => each)).toContain(
      "pawl.v1.Rejection",
    );
  });
});

describe("a newer client", () => {
  test("may send fields that this kernel does not know", async () => {
    const known = toBinary(
      StartRunsRequestSchema,
      create(StartRunsRequestSchema, { runs: [oneTask("newer-grpc", "k")] }),
    );
    const unknown = Buffer.from([0xf2, 0x3f, 0x03, 0x61, 0x62, 0x63]); // field 1022, "abc"
    const answer = await server.grpc.unaryBytes(run.startRuns, Buffer.concat([known, unknown]));
    expect(answer.results[0]?.rejection).toBeUndefined();
    const { json: body } = await server.json.post(
      run.getRun,
      '{"runId":"newer-grpc","fromTheFuture":{"a":[1]}}',
    );
    expect(body).toMatchObject({ run: { runId: "newer-grpc" } });
  });

  test("that sends an unknown value where it decides is refused by field", async () => {
    const status = Buffer.from([0x10, 0x63]); // ListRunsRequest.status = 99
    const refusal = await refusalOf(server.grpc.unaryBytes(run.listRuns, status));
    expect(refusal.rejection?.detail.value).toMatchObject({ field: "status" });
    const overJson = await refusalOf(server.json.post(run.listRuns, '{"status":99}'));
    expect(codeAndReason(overJson)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  });

  test("that names an unknown value in JSON is read as if it had named none", async () => {
    // ProtoJSON has it so: https://protobuf.dev/programming-guides/json/#unknown-enum-values
    const { json: body } = await server.json.post(run.listRuns, '{"status":"RUN_STATUS_ODD"}');
    expect(body).toMatchObject({});
  });
});

describe("text that does not survive", () => {
  test.each([
    ["a lone surrogate", '{"runId":"op:\\ud800"}', "pawl.v1.GetRunRequest.run_id"],
    ["NUL", '{"runId":"a\\u0000b"}', "run_id"],
  ])("%s is refused in an id, over JSON too", async (_name, body, field) => {
    const refusal = await refusalOf(server.json.post(run.getRun, body));
    expect(codeAndReason(refusal)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    expect(refusal.message).toContain(field);
  });

  test("is kept apart and kept as it is where it is well-formed", async () => {
    const composed = "caf\u00e9";
    const decomposed = "cafe\u0301";
    const rightToLeft = "\u202eabc";
    const ids = [composed, decomposed, rightToLeft];
    await server.grpc.unary(run.startRuns, { runs: ids.map((id) => oneTask(id, "text")) });
    for (const runId of ids) {
      const overJson = await server.json.unary(run.getRun, { runId });
      expect(overJson.run?.runId).toBe(runId);
    }
  });

  test("in a failure's message is refused, not changed in silence", async () => {
    const offer = await leasedRun(server.grpc, "half-emoji");
    const report = {
      ...leaseRef(offer),
      failure: { kind: "Cut", message: "half an emoji: \ud83d", retryable: false },
    };
    const body = JSON.stringify({ reports: [report] });
    const refusal = await refusalOf(server.json.post(WorkerService.method.reportOutputs, body));
    expect(codeAndReason(refusal)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    expect(refusal.message).toContain("pawl.v1.Failure.message");
  });

  test("of a payload is bytes, and comes back as it was", async () => {
    const offer = await leasedRun(server.grpc, "bytes");
    const bytes = Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x00, 0xff, 0x22]);
    const output = create(PayloadSchema, {
      contentType: "application/octet-stream",
      body: { case: "data", value: bytes },
    });
    await server.grpc.unary(WorkerService.method.reportOutputs, {
      reports: [{ ...leaseRef(offer), outcome: { case: "output", value: output } }],
    });
    const { result } = await server.json.unary(run.getResult, { runId: offer.runId });
    const { body } = result?.output ?? {};
    expect(body?.case === "data" ? Buffer.from(body.value) : undefined).toEqual(bytes);
  });
});

test("64-bit numbers are exact, and strings in JSON", async () => {
  const { json: info } = await server.json.post(AdminService.method.getServerInfo, "{}");
  expect(info).toMatchObject({ durableSequence: expect.stringMatching(/^\d+$/) });
  const offer = await leasedRun(server.grpc, "numbers");
  await complete(server.grpc, offer, { big: "9007199254740993" });
  for await (const page of server.json.stream(run.getHistory, { runId: "numbers" })) {
    for (const event of page.events) {
      expect(typeof event.sequence).toBe("bigint");
    }
  }
  const { result } = await server.json.unary(run.getResult, { runId: "numbers" });
  expect(textOf(result?.output)).toBe('{"big":"9007199254740993"}');
});

test("an empty id never means that one is made", async () => {
  const { results } = await server.grpc.unary(run.startRuns, { runs: [oneTask("", "k")] });
  expect(results[0]?.rejection).toMatchObject({
    reason: "PAWL_INVALID_FIELD",
    detail: { value: { field: "run_id", actual: "empty" } },
  });
});
