import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import {
  type Offer,
  type StepItemSchema,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { json, jsonText, oneTask, textOf } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const server = eachTestServer();

/** A step of a lease. */
function step(
  offer: Offer,
  correlation: number,
  value: string,
  name: string = "s",
): MessageInitShape<typeof StepItemSchema> {
  return {
    handle: offer.handle,
    leaseVersion: offer.leaseVersion,
    correlation,
    name,
    outcome: { case: "value", value: jsonText(value) },
  };
}

async function startOne(runId: string = "r"): Promise<void> {
  await server.grpc.unary(run.startRuns, { runs: [oneTask(runId, "k")] });
}

const connect = (hello = {}, more = { credits: 10 }): Promise<TestWorker> =>
  TestWorker.connect(server.grpc, hello, more);

describe("hello", () => {
  test("is answered with the bounds of the stream", async () => {
    const { welcome } = await connect({ features: ["from-the-future"] });
    expect(welcome).toMatchObject({
      features: [],
      messageBytesMax: 4 * 1024 * 1024,
      offerAckMs: 5_000,
      pingIntervalMs: 5_000,
      lostHandles: [],
    });
  });

  test.each([
    ["a message before it", { credits: 1 }],
    [
      "another protocol",
      { hello: { protocolVersion: 2, sessionId: "s", serves: [{ kind: "k" }] } },
    ],
    ["no session", { hello: { protocolVersion: 1, serves: [{ kind: "k" }] } }],
    ["nothing served", { hello: { protocolVersion: 1, sessionId: "s" } }],
    ["an empty kind", { hello: { protocolVersion: 1, sessionId: "s", serves: [{ kind: "" }] } }],
    [
      "a handle twice",
      {
        hello: {
          protocolVersion: 1,
          sessionId: "s",
          serves: [{ kind: "k" }],
          holds: [
            { handle: 1, runId: "a", task: "t", leaseVersion: 1 },
            { handle: 1, runId: "b", task: "t", leaseVersion: 1 },
          ],
        },
      },
    ],
  ])("with %s ends the stream by name", async (_name, first) => {
    const stream = server.grpc.duplex(work.work);
    stream.send(first);
    expect(codeAndReason(await stream.ended())).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  });

  test("a second time ends the stream", async () => {
    const worker = await connect();
    worker.send({ hello: { protocolVersion: 1, sessionId: "s", serves: [{ kind: "k" }] } });
    expect(codeAndReason(await worker.stream.ended())).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  });

  test("in a namespace that does not exist ends the stream", async () => {
    const stream = server.grpc.duplex(work.work);
    stream.send({
      hello: { protocolVersion: 1, namespace: "x", sessionId: "s", serves: [{ kind: "k" }] },
    });
    expect(codeAndReason(await stream.ended())).toBe("NOT_FOUND PAWL_NAMESPACE_NOT_FOUND");
  });

  test("with the highest handle there is lets handles begin anew, and nobody else notices", async () => {
    const holds = [{ handle: 0xffff_ffff, runId: "gone", task: "t", leaseVersion: 1 }];
    const worker = await connect({ holds });
    expect(worker.welcome.lostHandles).toEqual([0xffff_ffff]);
    await startOne();
    expect((await worker.offer()).handle).toBe(1);
  });

  test("bytes that are no message end the stream, and the kernel is unharmed", async () => {
    const stream = server.grpc.duplex(work.work);
    stream.sendBytes(Buffer.from("<!doctype html><title>Bad gateway</title>"));
    expect(codeAndReason(await stream.ended())).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    await startOne();
    expect((await (await connect()).offer()).runId).toBe("r");
  });
});

describe("items", () => {
  test("of one message are handled in the documented order, whatever their fields' order", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    worker.send({
      reports: [
        {
          handle: offer.handle,
          leaseVersion: 1,
          correlation: 2,
          outcome: { case: "output", value: json(1) },
        },
      ],
      steps: [step(offer, 1, "1")],
    });
    // Were the report first, the step would find its lease gone.
    expect(await worker.answer(1)).toBe("accepted");
    expect(await worker.answer(2)).toBe("accepted");
  });

  test("that were accepted are accepted again, as existing", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    const report = {
      handle: offer.handle,
      leaseVersion: 1,
      correlation: 5,
      outcome: { case: "output", value: json(1) },
    } as const;
    worker.send({ reports: [report] });
    expect(await worker.answer(5)).toBe("accepted");
    worker.send({ reports: [report] });
    expect(await worker.answer(5)).toMatchObject({ existing: true });
  });

  test("of a handle that the stream does not know have lost their lease", async () => {
    const worker = await connect();
    worker.send({
      reports: [
        { handle: 77, leaseVersion: 3, correlation: 1, outcome: { case: "noOutput", value: {} } },
      ],
      releases: [{ handle: 78, leaseVersion: 1, correlation: 2 }],
      renewals: [79],
    });
    expect(await worker.reason(1)).toBe("PAWL_LEASE_LOST");
    expect(await worker.reason(2)).toBe("PAWL_LEASE_LOST");
    expect(worker.seen.flatMap(({ lostLeases }) => lostLeases)).toMatchObject([
      { handle: 79, cause: "returned" },
    ]);
  });

  test("with a bad value are refused by field", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    worker.send({ reports: [{ handle: offer.handle, leaseVersion: 1, correlation: 1 }] });
    expect(await worker.answer(1)).toMatchObject({
      rejection: {
        reason: "PAWL_INVALID_FIELD",
        detail: { case: "invalidField", value: { field: "outcome" } },
      },
    });
  });
});

describe("a step", () => {
  test("that is recorded is existing, with the record that counts", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    worker.send({ steps: [step(offer, 1, '{"a":1,"b":2}')] });
    expect(await worker.answer(1)).toBe("accepted");
    worker.send({ steps: [step(offer, 2, '{"a":1,"b":2}'), step(offer, 3, '{ "b":2, "a":1 }')] });
    for (const correlation of [2, 3]) {
      const answer = await worker.answer(correlation);
      if (answer === "accepted") {
        throw new Error("Expected the record.");
      }
      expect(answer.existing).toBe(true);
      expect(textOf(answer.step?.value)).toBe('{"a":1,"b":2}');
    }
  });

  test("of another value is refused, and so is what was in flight behind it, until the worker knows", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    const lease = { handle: offer.handle, leaseVersion: 1 };
    worker.send({ steps: [step(offer, 1, "1")] });
    await worker.answer(1);
    worker.send({ steps: [step(offer, 2, "2")] });
    // Sent before the refusal could be read.
    worker.send({ steps: [step(offer, 3, "3", "next")] });
    worker.send({
      reports: [{ ...lease, correlation: 4, outcome: { case: "output", value: json(1) } }],
    });
    expect(await worker.reason(2)).toBe("PAWL_FINGERPRINT_CONFLICT");
    expect(await worker.reason(3)).toBe("PAWL_FINGERPRINT_CONFLICT");
    expect(await worker.reason(4)).toBe("PAWL_FINGERPRINT_CONFLICT");
    // With the pong of the ping that came with the refusal the worker says that it has read it.
    expect(worker.lastPing).toBeGreaterThan(0);
    worker.send({ pong: worker.lastPing, steps: [step(offer, 5, "3", "next")] });
    expect(await worker.answer(5)).toBe("accepted");
    worker.send({
      reports: [{ ...lease, correlation: 6, outcome: { case: "output", value: json(1) } }],
    });
    expect(await worker.answer(6)).toBe("accepted");
  });

  test("that is the recorded JSON document after all lets pass what waited behind it", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    worker.send({ steps: [step(offer, 1, '{"a":1,"b":2}')] });
    await worker.answer(1);
    worker.send({ steps: [step(offer, 2, '{"b":2,"a":1}'), step(offer, 3, "3", "next")] });
    expect(await worker.reason(2)).toBe(undefined);
    expect(await worker.answer(3)).toBe("accepted");
  });
});

describe("the end of a lease", () => {
  test("by termination is told with its cause", async () => {
    await startOne();
    const worker = await connect();
    const offer = await worker.offer();
    await server.grpc.unary(run.terminateRun, { runId: "r", reason: "enough" });
    expect(await worker.lost(offer.handle)).toBe("terminated");
    worker.send({ steps: [step(offer, 1, "1")] });
    expect(await worker.answer(1)).toMatchObject({
      rejection: {
        reason: "PAWL_LEASE_LOST",
        detail: { value: { held: 1, current: 1, status: "CANCELLED" } },
      },
    });
  });

  test("by cancellation is asked for first, with the grace", async () => {
    await server.grpc.unary(run.startRuns, {
      runs: [
        oneTask("r", "k", {
          plan: { tasks: [{ name: "only", kind: "k", cancelGrace: { seconds: 33n } }] },
        }),
      ],
    });
    const worker = await connect();
    const offer = await worker.offer();
    await server.grpc.unary(run.cancelRun, { runId: "r", reason: "changed my mind" });
    const message = await worker.receiveWhere(({ cancels }) => cancels.length > 0);
    expect(message.cancels).toMatchObject([
      { handle: offer.handle, reason: "changed my mind", graceMs: 33_000 },
    ]);
    worker.send({
      reports: [
        {
          handle: offer.handle,
          leaseVersion: 1,
          correlation: 1,
          outcome: { case: "cancelled", value: { kind: "Stopped" } },
        },
      ],
    });
    expect(await worker.answer(1)).toBe("accepted");
  });

  test("by release brings the task back without using an attempt", async () => {
    await startOne();
    const worker = await connect();
    const { handle } = await worker.offer();
    worker.send({ releases: [{ handle, leaseVersion: 1, correlation: 1 }], credits: 1 });
    expect(await worker.answer(1)).toBe("accepted");
    expect(await worker.offer()).toMatchObject({ attempt: 1, leaseVersion: 2 });
  });
});

describe("a reconnect", () => {
  test("keeps what the worker holds under its handles, and names what is lost", async () => {
    await startOne("a");
    await startOne("b");
    const first = await connect();
    const offers = [await first.offer(), await first.offer()];
    const [a, b] = offers;
    // The report of b gets in, but the worker never hears of it.
    first.send({
      reports: [
        {
          handle: b?.handle ?? 0,
          leaseVersion: 1,
          correlation: 9,
          outcome: { case: "output", value: json("b") },
        },
      ],
    });
    await first.answer(9);
    first.stream.cancel();
    const holds = offers.map(({ handle, runId, task, leaseVersion }) => ({
      ...{ handle, runId, task, leaseVersion },
    }));
    const second = await connect({ holds });
    expect(second.welcome.lostHandles).toEqual([b?.handle]);
    const report = (handle: number, correlation: number, output: string) => ({
      handle,
      leaseVersion: 1,
      correlation,
      outcome: { case: "output" as const, value: json(output) },
    });
    second.send({ reports: [report(b?.handle ?? 0, 9, "b"), report(a?.handle ?? 0, 10, "a")] });
    expect(await second.answer(9)).toMatchObject({ existing: true });
    expect(await second.answer(10)).toBe("accepted");
  });

  test("never gives a new lease the handle of a lost one", async () => {
    await startOne("a");
    const first = await connect();
    const { handle, runId, task } = await first.offer();
    first.send({
      reports: [
        { handle, leaseVersion: 1, correlation: 1, outcome: { case: "noOutput", value: {} } },
      ],
    });
    await first.answer(1);
    first.stream.cancel();
    await startOne("b");
    const second = await connect({ holds: [{ handle, runId, task, leaseVersion: 1 }] });
    expect(second.welcome.lostHandles).toEqual([handle]);
    expect((await second.offer()).handle).not.toBe(handle);
  });

  test("without naming a lease gives it back at once", async () => {
    await startOne();
    const first = await connect();
    await first.offer();
    first.stream.cancel();
    const second = await connect();
    expect(await second.offer()).toMatchObject({ runId: "r", leaseVersion: 2, attempt: 1 });
  });
});

test("a worker that has drained gets nothing more", async () => {
  const worker = await connect();
  worker.send({ drain: true, ping: 7 });
  await worker.receiveWhere(({ pong }) => pong === 7);
  await startOne();
  const other = await connect({ sessionId: "other" });
  expect((await other.offer()).runId).toBe("r");
  expect(worker.seen.flatMap(({ offers }) => offers)).toEqual([]);
});
