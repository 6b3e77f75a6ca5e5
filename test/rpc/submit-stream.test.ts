import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type AwaitedResult,
  RunService,
  type StartRunResult,
  type StartRunSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { WireWriter } from "@pawl/proto/wire/writer.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, complete, json, jsonText, oneTask, textOf } from "./support/fixtures.js";
import type { Duplex } from "./support/grpc-client.js";
import { codeAndReason } from "./support/refusal.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

type Submit = Duplex<typeof RunService.method.submit>;

let server: TestServer;
let submit: Submit;

beforeEach(async () => {
  server = await openTestServer();
  submit = server.grpc.duplex(RunService.method.submit);
});
afterEach(async () => {
  submit.cancel();
  await server.close();
  expect(server.faults).toEqual([]);
});

/** Everything that is answered, until so many correlation numbers have been. */
async function answers(count: number): Promise<{
  readonly accepted: number[];
  readonly started: StartRunResult[];
  readonly results: AwaitedResult[];
}> {
  const accepted: number[] = [];
  const started: StartRunResult[] = [];
  const results: AwaitedResult[] = [];
  while (accepted.length + started.length + results.length < count) {
    const message = await submit.next();
    accepted.push(...message.accepted);
    started.push(...message.started);
    results.push(...message.results);
  }
  return { accepted, started, results };
}

/** What is wrong, the part of the start that is, the reason, and the field that is named. */
const badStarts: readonly (readonly [
  string,
  MessageInitShape<typeof StartRunSchema>,
  string,
  string,
])[] = [
  ["an empty id", { runId: "" }, "PAWL_INVALID_FIELD", "run_id"],
  ["an overlong id", { runId: "ä".repeat(101) }, "PAWL_INVALID_FIELD", "run_id"],
  ["NUL in the id", { runId: "a\0b" }, "PAWL_INVALID_FIELD", "run_id"],
  ["no workflow", { workflow: "" }, "PAWL_INVALID_FIELD", "workflow"],
  ["no tasks", { plan: { tasks: [] } }, "PAWL_INVALID_FIELD", "plan.tasks"],
  [
    "a cycle",
    {
      plan: {
        tasks: [
          { name: "x", kind: "k", needs: ["y"] },
          { name: "y", kind: "k", needs: ["x"] },
        ],
      },
    },
    "PAWL_INVALID_FIELD",
    "plan.tasks",
  ],
  [
    "an input without a content type",
    { input: { body: { case: "data", value: Buffer.from("1") } } },
    "PAWL_INVALID_FIELD",
    "input.content_type",
  ],
  [
    "an input without content",
    { input: { contentType: "text/plain" } },
    "PAWL_INVALID_FIELD",
    "input.data",
  ],
  [
    "an input that is a reference",
    {
      input: {
        contentType: "text/plain",
        body: { case: "blob", value: { sha256: new Uint8Array(32) } },
      },
    },
    "PAWL_INVALID_FIELD",
    "input.blob",
  ],
  [
    "a task's input that is a reference",
    {
      plan: {
        tasks: [
          {
            name: "x",
            kind: "k",
            input: {
              contentType: "text/plain",
              body: { case: "blob", value: { sha256: new Uint8Array(32) } },
            },
          },
        ],
      },
    },
    "PAWL_INVALID_FIELD",
    "plan.tasks[0].input.blob",
  ],
  [
    "too many labels",
    { labels: Array.from({ length: 33 }, (_, index) => ({ key: `l${index}`, value: "" })) },
    "PAWL_INVALID_FIELD",
    "labels",
  ],
  [
    "a label twice",
    {
      labels: [
        { key: "l", value: "1" },
        { key: "l", value: "2" },
      ],
    },
    "PAWL_INVALID_FIELD",
    "labels[1].key",
  ],
  ["an overlong traceparent", { traceparent: "0".repeat(56) }, "PAWL_INVALID_FIELD", "traceparent"],
];

describe("starts", () => {
  test("are answered by correlation, new ones packed, with a position", async () => {
    submit.send({
      starts: [oneTask("a", "k", { correlation: 11 }), oneTask("b", "k", { correlation: 12 })],
    });
    const message = await submit.next();
    expect(message.accepted).toEqual([11, 12]);
    expect(message.started).toEqual([]);
    expect(message.position.length).toBeGreaterThan(0);
  });

  test("again are existing, with version and incarnation", async () => {
    submit.send({ starts: [oneTask("a", "k", { correlation: 1 })] });
    await answers(1);
    submit.send({ starts: [oneTask("a", "k", { correlation: 2 })] });
    const { started } = await answers(1);
    expect(started).toMatchObject([{ correlation: 2, existing: true, version: 1, incarnation: 1 }]);
  });

  test.each(badStarts)(
    "with %s are refused by field, and others beside them are taken",
    async (_n, part, reason, field) => {
      submit.send({
        starts: [
          oneTask("bad", "k", Object.assign({ correlation: 1 }, part)),
          oneTask("good", "k", { correlation: 2 }),
        ],
      });
      const { accepted, started } = await answers(2);
      expect(accepted).toEqual([2]);
      expect(started).toMatchObject([
        {
          correlation: 1,
          rejection: { reason, detail: { case: "invalidField", value: { field } } },
        },
      ]);
      const runs = await server.grpc.unary(RunService.method.listRuns, {});
      expect(runs.runs.map(({ runId }) => runId)).toEqual(["good"]);
    },
  );

  test("of a namespace that does not exist are refused one by one", async () => {
    submit.send({ namespace: "other", starts: [oneTask("a", "k", { correlation: 5 })] });
    const { started } = await answers(1);
    expect(started[0]?.rejection?.reason).toBe("PAWL_NAMESPACE_NOT_FOUND");
  });

  test("beyond a thousand in a message are refused", async () => {
    const starts = Array.from({ length: 1001 }, (_, index) =>
      oneTask(`r${index}`, "k", { correlation: index + 1 }),
    );
    submit.send({ starts });
    const { accepted, started } = await answers(1001);
    expect(accepted).toHaveLength(1000);
    expect(started).toMatchObject([
      { correlation: 1001, rejection: { detail: { value: { field: "starts" } } } },
    ]);
  });
});

describe("a start with another input", () => {
  const withInput = (text: string, correlation: number): MessageInitShape<typeof StartRunSchema> =>
    oneTask("same", "k", { input: jsonText(text), correlation });

  test("that is the same JSON document is existing", async () => {
    submit.send({ starts: [withInput('{"a": 1, "b": [true, null]}', 1)] });
    await answers(1);
    submit.send({ starts: [withInput('{"b":[true,null],"a":1.0}', 2)] });
    const { started } = await answers(1);
    expect(started).toMatchObject([{ correlation: 2, existing: true, version: 1 }]);
  });

  test("that is another document is a conflict", async () => {
    submit.send({ starts: [withInput('{"a":1}', 1)] });
    await answers(1);
    submit.send({ starts: [withInput('{"a":2}', 2)] });
    const { started } = await answers(1);
    expect(started).toMatchObject([
      {
        correlation: 2,
        existing: false,
        rejection: {
          reason: "PAWL_FINGERPRINT_CONFLICT",
          detail: { value: { entity: "run", id: "same", differs: "input" } },
        },
      },
    ]);
  });

  test("that has a key twice equals only itself", async () => {
    submit.send({ starts: [withInput('{"a":1,"a":1}', 1)] });
    await answers(1);
    submit.send({ starts: [withInput('{"a":1, "a":1}', 2), withInput('{"a":1,"a":1}', 3)] });
    const { started } = await answers(2);
    const byCorrelation = new Map(started.map((answer) => [answer.correlation, answer]));
    expect(byCorrelation.get(2)?.rejection?.reason).toBe("PAWL_FINGERPRINT_CONFLICT");
    expect(byCorrelation.get(3)?.existing).toBe(true);
  });

  test("absent, null and empty are three inputs", async () => {
    const { input: _, ...without } = withInput("null", 1);
    submit.send({ starts: [{ ...without, runId: "absent" }] });
    submit.send({ starts: [{ ...withInput("null", 2), runId: "null" }] });
    submit.send({ starts: [{ ...withInput("", 3), runId: "empty" }] });
    await answers(3);
    submit.send({
      starts: [
        { ...withInput("null", 4), runId: "absent" },
        { ...withInput("", 5), runId: "null" },
        { ...without, runId: "empty", correlation: 6 },
      ],
    });
    const { started } = await answers(3);
    expect(started.map(({ rejection }) => rejection?.reason)).toEqual([
      "PAWL_FINGERPRINT_CONFLICT",
      "PAWL_FINGERPRINT_CONFLICT",
      "PAWL_FINGERPRINT_CONFLICT",
    ]);
  });

  test("whose digest a client's codec sent is judged by that digest", async () => {
    const encoded = (text: string, digest: number): MessageInitShape<typeof StartRunSchema> =>
      oneTask("encoded", "k", {
        input: {
          contentType: "application/json",
          body: { case: "data", value: Buffer.from(text) },
          encoding: "aes",
          digest: { kind: 3, value: new Uint8Array(32).fill(digest) },
        },
      });
    submit.send({ starts: [{ ...encoded("cipher 1", 1), correlation: 1 }] });
    await answers(1);
    submit.send({
      starts: [
        { ...encoded("cipher 2", 1), correlation: 2 },
        { ...encoded("cipher 1", 2), correlation: 3 },
      ],
    });
    const { started } = await answers(2);
    expect(started).toMatchObject([
      { correlation: 2, existing: true },
      { correlation: 3, rejection: { reason: "PAWL_FINGERPRINT_CONFLICT" } },
    ]);
  });
});

describe("waits", () => {
  test("beside a start give the result under the start's number", async () => {
    submit.send({ starts: [oneTask("a", "k", { correlation: 3, wait: true })] });
    await answers(1);
    await complete(server.grpc, await claim(server.grpc, "k"), { done: true });
    const { results } = await answers(1);
    expect(results).toMatchObject([
      { correlation: 3, result: { runId: "a", incarnation: 1, status: RunStatus.COMPLETED } },
    ]);
    expect(textOf(results[0]?.result?.output)).toBe('{"done":true}');
  });

  test("for a run that has ended are answered at once; for none, refused", async () => {
    submit.send({ starts: [oneTask("a", "k", { correlation: 1 })] });
    await answers(1);
    await complete(server.grpc, await claim(server.grpc, "k"), 1);
    submit.send({
      waits: [
        { runId: "a", correlation: 2 },
        { runId: "none", correlation: 3 },
        { runId: "", correlation: 4 },
      ],
    });
    const { results } = await answers(3);
    const byCorrelation = new Map(results.map((result) => [result.correlation, result]));
    expect(byCorrelation.get(2)?.result?.status).toBe(RunStatus.COMPLETED);
    expect(byCorrelation.get(3)?.rejection?.reason).toBe("PAWL_RUN_NOT_FOUND");
    expect(byCorrelation.get(4)?.rejection?.reason).toBe("PAWL_INVALID_FIELD");
  });

  test("beside a start that exists are answered when it ends", async () => {
    submit.send({ starts: [oneTask("a", "k", { correlation: 1 })] });
    await answers(1);
    submit.send({ starts: [oneTask("a", "k", { correlation: 2, wait: true })] });
    expect((await answers(1)).started).toMatchObject([{ correlation: 2, existing: true }]);
    await complete(server.grpc, await claim(server.grpc, "k"), 1);
    expect((await answers(1)).results).toMatchObject([{ correlation: 2 }]);
  });

  test("hold a half-closed stream open until they are answered", async () => {
    submit.send({ starts: [oneTask("a", "k", { correlation: 1, wait: true })] });
    submit.end();
    await answers(1);
    await complete(server.grpc, await claim(server.grpc, "k"), 1);
    await answers(1);
    expect(await submit.ended()).toBe("ended");
  });
});

describe("bytes that are no message", () => {
  test.each([
    ["foreign", Buffer.from("<html><body>502 Bad Gateway</body></html>")],
    ["truncated", Buffer.from([0x12, 0x7f, 0x01])],
  ])("that are %s end the stream by name, and the next stream is served", async (_n, bytes) => {
    submit.sendBytes(bytes);
    expect(codeAndReason(await submit.ended())).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    submit = server.grpc.duplex(RunService.method.submit);
    submit.send({ starts: [oneTask("a", "k", { correlation: 1 })] });
    expect((await answers(1)).accepted).toEqual([1]);
  });

  test("but fields of a newer client are ignored", async () => {
    const writer = new WireWriter();
    writer.tag((900 << 3) | 2);
    writer.string("from the future");
    writer.tag(18);
    const at = writer.begin();
    writer.tag(10);
    writer.string("a");
    writer.tag(18);
    writer.string("w");
    writer.tag(26);
    // Plan { tasks: [{ name: "t", kind: "k" }] }
    writer.bytes(Uint8Array.of(10, 6, 10, 1, 0x74, 18, 1, 0x6b));
    writer.tag(56);
    writer.varint32(8);
    writer.tag((901 << 3) | 0);
    writer.varint32(7);
    writer.end(at);
    submit.sendBytes(writer.finish());
    expect((await answers(1)).accepted).toEqual([8]);
  });
});

test("a stream without anything ends when its other side does", async () => {
  submit.end();
  expect(await submit.ended()).toBe("ended");
});

test("large inputs keep their order and are served as they were", async () => {
  const large = "x".repeat(100_000);
  submit.send({
    starts: [
      oneTask("a", "k", { input: json(large), correlation: 1 }),
      oneTask("b", "k", { correlation: 2 }),
    ],
  });
  submit.send({ starts: [oneTask("a", "k", { input: json(large), correlation: 3 })] });
  const { accepted, started } = await answers(3);
  expect(accepted).toEqual([1, 2]);
  expect(started).toMatchObject([{ correlation: 3, existing: true }]);
  const offer = await claim(server.grpc, "k");
  const { body } = offer.input ?? {};
  if (body?.case !== "blob") {
    throw new Error(`Expected a reference, but it is ${body?.case}.`);
  }
  expect(body.value.sizeBytes).toBe(100_002n);
  const chunks: Uint8Array[] = [];
  const { sha256 } = body.value;
  for await (const { data } of server.grpc.stream(RunService.method.readBlob, {
    runId: "a",
    sha256,
  })) {
    chunks.push(data);
  }
  expect(Buffer.concat(chunks).toString()).toBe(JSON.stringify(large));
});
