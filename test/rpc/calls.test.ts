import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { claim, complete, json, leasedRun, leaseRef, oneTask, textOf } from "./support/fixtures.js";
import { timer } from "./support/wait-cases.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const server = eachTestServer();

const called = (name: string, input: unknown = name) => ({
  name,
  kind: "child",
  input: json(input),
});

describe.each(["grpc", "json"] as const)("tasks called over %s", (protocol) => {
  test("run at any worker with their own input, and wake their caller with what they gave", async () => {
    const client = server[protocol];
    const caller = await leasedRun(client, "r");
    const lease = leaseRef(caller);
    const request = { lease, tasks: [called("a"), called("b")] };
    expect(await client.unary(work.callTasks, request)).toMatchObject({ existing: false });
    expect(await client.unary(work.callTasks, request)).toMatchObject({ existing: true });
    const suspended = await client.unary(work.suspend, { lease, seenThrough: 3 });
    expect(suspended.status).toBe(TaskStatus.SUSPENDED);
    const waits = await client.unary(run.getTask, { runId: "r", task: "only" });
    expect(waits.task?.waitsFor).toBe('Task "only" waits for tasks "a", "b", which it called.');

    const first = await claim(client, "child");
    expect([first.task, textOf(first.input), first.attempt]).toEqual(["a", '"a"', 1]);
    await complete(client, first, { found: 1 });
    const woken = await claim(client, "kind-r");
    expect(woken.openCalls).toEqual(["b"]);
    expect(woken.outcomes).toMatchObject([{ name: "a", outcome: { case: "call" } }]);
    const outcome = woken.outcomes[0]?.outcome;
    const end = outcome?.case === "call" ? outcome.value.end : undefined;
    expect(end?.case === "output" ? textOf(end.value) : undefined).toBe('{"found":1}');

    await complete(client, woken, "done");
    const { task } = await client.unary(run.getTask, { runId: "r", task: "b" });
    expect(task?.status).toBe(TaskStatus.CANCELLED);
  });

  test("may carry input that is too large for an event", async () => {
    const client = server[protocol];
    const caller = await leasedRun(client, "r");
    const large = "x".repeat(100_000);
    await client.unary(work.callTasks, { lease: leaseRef(caller), tasks: [called("a", large)] });
    const offer = await claim(client, "child");
    expect(offer.input?.body.case).toBe("blob");
    await complete(client, offer, "ok");
  });

  test("are named to who goes on as far as that fits, and calling the others again is nothing new", async () => {
    const client = server[protocol];
    const caller = await leasedRun(client, "r");
    const lease = leaseRef(caller);
    const names = Array.from({ length: 4_000 }, (_, n) => `${n}`.padStart(180, "x"));
    for (let at = 0; at < names.length; at += 1_000) {
      const tasks = names.slice(at, at + 1_000).map((name) => ({ name, kind: "child" }));
      await client.unary(work.callTasks, { lease, tasks });
    }
    await client.unary(work.releaseTask, { lease });
    const again = await claim(client, "kind-r");
    const { openCalls } = again;
    expect(openCalls.join("").length).toBeLessThanOrEqual(524_288);
    expect(openCalls).toEqual(names.slice(0, openCalls.length));
    const tasks = names.slice(-1).map((name) => ({ name, kind: "child" }));
    expect(openCalls).not.toContain(names.at(-1));
    const repeated = await client.unary(work.callTasks, { lease: leaseRef(again), tasks });
    expect(repeated).toMatchObject({ existing: true });
  });

  test("without an input have none, whatever their run got", async () => {
    const client = server[protocol];
    const caller = await leasedRun(client, "r");
    const tasks = [{ name: "a", kind: "child" }];
    await client.unary(work.callTasks, { lease: leaseRef(caller), tasks });
    expect((await claim(client, "child")).input).toBeUndefined();
  });
});

const start = async (): Promise<TestWorker> => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
  return await TestWorker.connect(server.grpc, {}, { credits: 1 });
};

describe("on the worker stream", () => {
  test("what ends is told to whoever holds the caller, once, in order", async () => {
    const worker = await start();
    const { handle, leaseVersion, seenThrough } = await worker.offer();
    const lease = { handle, leaseVersion };
    worker.send({
      calls: [{ ...lease, correlation: 1, tasks: [called("a"), called("b")] }],
      waits: [{ ...lease, correlation: 2, waits: [timer(0, "soon"), timer()] }],
    });
    expect([await worker.answer(1), await worker.answer(2)]).toEqual(["accepted", "accepted"]);
    await complete(server.grpc, await claim(server.grpc, "child"), 1);
    await complete(server.grpc, await claim(server.grpc, "child"), 2);
    const told = await worker.outcomes(3);
    expect(told.map(({ name }) => name)).toEqual(["soon", "a", "b"]);
    const numbers = told.map(({ number }) => number);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(numbers[0]).toBeGreaterThan(seenThrough);
  });

  test("what ended while the worker was away is told when it is back, from where it was", async () => {
    const worker = await start();
    const { handle, leaseVersion } = await worker.offer();
    worker.send({
      calls: [{ handle, leaseVersion, correlation: 1, tasks: [called("a"), called("b")] }],
    });
    await worker.answer(1);
    await complete(server.grpc, await claim(server.grpc, "child"), 1);
    const [first] = await worker.outcomes(1);
    worker.stream.cancel();
    await complete(server.grpc, await claim(server.grpc, "child"), 2);
    const held = {
      handle,
      runId: "r",
      task: "only",
      leaseVersion,
      seenThrough: first?.number ?? 0,
    };
    const back = await TestWorker.connect(server.grpc, { holds: [held] });
    expect((await back.outcomes(1)).map(({ name }) => name)).toEqual(["b"]);
  });

  test("a call that is given up ends, and its worker is told to stop", async () => {
    const worker = await start();
    const { handle, leaseVersion } = await worker.offer();
    worker.send({ calls: [{ handle, leaseVersion, correlation: 1, tasks: [called("a")] }] });
    await worker.answer(1);
    const child = await TestWorker.connect(
      server.grpc,
      { sessionId: "other", serves: [{ kind: "child" }] },
      { credits: 1 },
    );
    const offer = await child.offer();
    worker.send({ calls: [{ handle, leaseVersion, correlation: 2, cancels: ["a"] }] });
    expect(await worker.answer(2)).toBe("accepted");
    expect(await child.lost(offer.handle)).toBe("cancelled");
    const [outcome] = await worker.outcomes(1);
    expect(outcome?.outcome).toMatchObject({
      case: "call",
      value: { end: { case: "failure", value: { code: "PAWL_CALL_CANCELLED" } } },
    });
  });
});

describe("on the worker stream, too,", () => {
  test("a call that is asked to stop keeps its lease; its worker is told why, and once more when it is back", async () => {
    const worker = await start();
    const { handle, leaseVersion } = await worker.offer();
    worker.send({ calls: [{ handle, leaseVersion, correlation: 1, tasks: [called("a")] }] });
    await worker.answer(1);
    const serves = [{ kind: "child" }];
    const hello = { sessionId: "other", serves };
    const child = await TestWorker.connect(server.grpc, hello, { credits: 1 });
    const offer = await child.offer();
    const stops = [{ name: "a", reason: "enough" }];
    worker.send({ calls: [{ handle, leaseVersion, correlation: 2, stops }] });
    expect(await worker.answer(2)).toBe("accepted");
    expect(await child.asked(offer.handle)).toBe("enough");
    child.stream.cancel();
    const { runId, task } = offer;
    const held = { handle: offer.handle, runId, task, leaseVersion: offer.leaseVersion };
    const back = await TestWorker.connect(server.grpc, { ...hello, holds: [held] });
    expect(await back.asked(offer.handle)).toBe("enough");
    await complete(server.grpc, offer, 7);
    const [outcome] = await worker.outcomes(1);
    expect(outcome?.outcome).toMatchObject({ case: "call", value: { end: { case: "output" } } });
  });

  test("a reason that is too long, and none of anything, are refused", async () => {
    const lease = leaseRef(await leasedRun(server.grpc, "r"));
    const stops = [{ name: "a", reason: "x".repeat(1_001) }];
    for (const request of [{ lease, stops }, { lease }]) {
      await expect(server.grpc.unary(work.callTasks, request)).rejects.toThrow(
        "PAWL_INVALID_FIELD",
      );
    }
  });
});

test("what ended while the worker was away is told also when it is more than a message holds", async () => {
  const worker = await start();
  const { handle, leaseVersion, seenThrough } = await worker.offer();
  const count = 170;
  const tasks = Array.from({ length: count }, (_, n) => called(`${n}`));
  worker.send({ calls: [{ handle, leaseVersion, correlation: 1, tasks }] });
  await worker.answer(1);
  worker.stream.cancel();
  const output = "x".repeat(30_000);
  for (let n = 0; n < count; n++) {
    await complete(server.grpc, await claim(server.grpc, "child"), output);
  }
  const held = { handle, runId: "r", task: "only", leaseVersion, seenThrough };
  const back = await TestWorker.connect(server.grpc, { holds: [held] });
  const told = await back.outcomes(count);
  expect(told.map(({ name }) => name)).toEqual(tasks.map(({ name }) => name));
});
