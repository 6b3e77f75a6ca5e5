import { create, toBinary } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import {
  GetHistoryResponseSchema,
  RunService,
  type StartRun,
  StartRunsRequestSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService, WorkResponseSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { type Client, connect, json, plan, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json as jsonPayload, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { TestWorker } from "../rpc/support/worker.js";
import { holdTask, taskOf } from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const mib = 1_048_576;
/** The bound of a message, as the contract says it. */
const messageBytesMax = 4 * mib;

let server: TestServer;
let client: Client;

beforeEach(async () => {
  server = await openTestServer();
  client = connect({
    url: `http://127.0.0.1:${server.server.port}`,
    onConnection: () => undefined,
  });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  await server.close();
  expect(server.faults).toEqual([]);
});

describe("content just below the bound of a message", () => {
  test("as input, as output and as what the next task needs all arrives whole", async () => {
    const grow = task("grow", { input: json<string>(), output: json<string>() });
    const measure = task("measure", { input: json<string>(), output: json<number[]>() });
    const both = plan("both", {
      input: json<string>(),
      tasks: {
        first: { task: grow },
        second: { task: grow },
        measure: { task: measure, needs: ["first", "second"] },
      },
      output: "measure",
    });
    await client.worker({
      serve: [
        grow.run((_ctx, text) => text.replaceAll("a", "b")),
        measure.run((ctx, text) => [
          text.length,
          ctx.dependency(grow, "first").length,
          ctx.dependency(grow, "second").length,
        ]),
      ],
    });
    // What the SDK takes at most, with the quotes.
    const length = 3_999_998;
    await expect(client.start(both, "a".repeat(length + 1))).rejects.toMatchObject({
      code: "PAWL_TOO_LARGE",
      message: expect.stringMatching(/at most 4000000 bytes, but it has 4000001/),
    });
    const started = await client.start(both, "a".repeat(length));
    expect(await started.result()).toEqual([length, length, length]);
    const grown = await client.execute(grow, "a".repeat(length));
    expect(grown).toBe("b".repeat(length));
  });

  test("does not keep small tasks behind it from being offered, and no message is above the bound", async () => {
    const { grpc } = server;
    const content = jsonPayload("x".repeat(mib));
    for (let number = 0; number < 70; number++) {
      const { results } = await grpc.unary(run.startRuns, {
        runs: [oneTask(`r${number}`, "k", { input: content })],
      });
      expect(results[0]?.rejection).toBeUndefined();
    }
    await grpc.unary(run.startRuns, { runs: [oneTask("small", "k")] });
    const worker = await TestWorker.connect(grpc, {}, { credits: 71 });
    const offered: string[] = [];
    while (offered.length < 71) offered.push((await worker.offer()).runId);
    expect(offered.at(-1)).toBe("small");
    expect(new Set(offered).size).toBe(71);
    for (const message of worker.seen) {
      expect(toBinary(WorkResponseSchema, message).length).toBeLessThanOrEqual(messageBytesMax);
    }
  });
});

describe("an output above the bound of a message", () => {
  test.each([4 * mib + 1, 20 * mib])(
    "(%i bytes) has a reason of its own, and the task is still held and can fail with it",
    async (bytes) => {
      const { grpc } = server;
      const offer = await holdTask(grpc, "r", { timeouts: {} });
      const value = jsonPayload("x".repeat(bytes));
      const reports = [{ ...leaseRef(offer), outcome: { case: "output" as const, value } }];
      expect(await grpc.unary(work.reportOutputs, { reports }).catch(codeAndReason)).toBe(
        "INVALID_ARGUMENT PAWL_TOO_LARGE",
      );
      expect(await taskOf(grpc, "r")).toMatchObject({ attempt: 1, leaseVersion: 1 });
    },
  );

  test("fails its run once, with a reason that its status shows", async () => {
    const wide = task("wide", { output: json<string>(), retry: { attempts: 5, initial: "1ms" } });
    let attempts = 0;
    await client.worker({
      serve: [
        wide.run(() => {
          attempts++;
          return "x".repeat(20 * mib);
        }),
      ],
    });
    const started = await client.start(wide);
    await expect(started.result()).rejects.toMatchObject({
      code: "PAWL_RUN_FAILED",
      failure: { cause: { code: "PAWL_TOO_LARGE", retryable: false } },
    });
    expect(attempts).toBe(1);
    const view = await started.get();
    expect(view.status).toBe(RunStatus.FAILED);
    expect(view.why).toContain("main");
  });
});

test("content that just fits into a start fits into the offer, the report and the result as well", async () => {
  const { grpc } = server;
  const bytes = messageBytesMax - (startBytes(4_000_000) - 4_000_000);
  expect(startBytes(bytes)).toBe(messageBytesMax);
  const { results } = await grpc.unary(run.startRuns, { runs: [largeStart(bytes)] });
  expect(results[0]?.rejection).toBeUndefined();

  const worker = await TestWorker.connect(grpc, {}, { credits: 1 });
  const offer = await worker.offer();
  expect(await read("r", offer.input)).toBe(bytes);
  // A report has less around its content than a start.
  const value = bytesPayload(bytes);
  const report = { outcome: { case: "output" as const, value }, correlation: 1 };
  worker.send({ reports: [{ handle: offer.handle, leaseVersion: 1, ...report }] });
  expect(await worker.answer(1)).toBe("accepted");
  const { result } = await grpc.unary(run.getResult, { runId: "r" });
  expect(await read("r", result?.output)).toBe(bytes);
  const { task: ended } = await grpc.unary(run.getTask, { runId: "r", task: "only" });
  expect(await read("r", ended?.output)).toBe(bytes);
  for await (const page of grpc.stream(run.getHistory, { runId: "r" })) {
    expect(toBinary(GetHistoryResponseSchema, page).length).toBeLessThanOrEqual(messageBytesMax);
  }
});

/** A run whose input has so many bytes. */
function largeStart(inputBytes: number): StartRun {
  return oneTask("r", "k", { input: bytesPayload(inputBytes) });
}

/** How long a request is that starts it. */
function startBytes(inputBytes: number): number {
  const request = create(StartRunsRequestSchema, { runs: [largeStart(inputBytes)] });
  return toBinary(StartRunsRequestSchema, request).length;
}

/** Content of so many bytes. */
function bytesPayload(bytes: number): Payload {
  const body = { case: "data" as const, value: new Uint8Array(bytes) };
  return create(PayloadSchema, { contentType: "application/octet-stream", body });
}

/** How many bytes a payload has, wherever they are kept. */
async function read(runId: string, payload: Payload | undefined): Promise<number> {
  const { body } = payload ?? {};
  if (body?.case !== "blob") return body?.case === "data" ? body.value.length : -1;
  let bytes = 0;
  const { sha256 } = body.value;
  for await (const { data } of server.grpc.stream(run.readBlob, { runId, sha256 })) {
    bytes += data.length;
  }
  return bytes;
}

test("a history of far more bytes than a message holds is read in messages below the bound", async () => {
  const { grpc } = server;
  const offer = await holdTask(grpc, "r", { timeouts: {} });
  const stepsPerCall = 50;
  for (let call = 0; call < 10; call++) {
    const { results } = await grpc.unary(work.recordSteps, {
      lease: leaseRef(offer),
      steps: Array.from({ length: stepsPerCall }, (_, index) => ({
        name: `step-${call}-${index}`,
        outcome: { case: "value" as const, value: jsonPayload("x".repeat(30_000)) },
      })),
    });
    expect(results.every(({ rejection }) => rejection === undefined)).toBe(true);
  }
  const names: string[] = [];
  let largest = 0;
  let total = 0;
  for await (const page of grpc.stream(run.getHistory, { runId: "r" })) {
    const bytes = toBinary(GetHistoryResponseSchema, page).length;
    largest = Math.max(largest, bytes);
    total += bytes;
    names.push(
      ...page.events.filter(({ type }) => type === "StepRecorded").map(({ step }) => step),
    );
  }
  expect(names).toHaveLength(500);
  expect(new Set(names).size).toBe(500);
  expect(total).toBeGreaterThan(3 * messageBytesMax);
  expect(largest).toBeLessThanOrEqual(messageBytesMax);
});
