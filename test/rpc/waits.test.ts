import { create, toJson } from "@bufbuild/protobuf";
import { FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import {
  StepItemSchema,
  type StepRecord,
  StepRecordSchema,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { claim, complete, json, leasedRun, leaseRef, oneTask } from "./support/fixtures.js";
import { askingRun, timer } from "./support/wait-cases.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const server = eachTestServer();

describe.each(["grpc", "json"] as const)("a task suspended over %s", (protocol) => {
  test("says what it waits for, comes back with the outcome, and has used no attempt", async () => {
    const client = server[protocol];
    const first = await leasedRun(client, "r");
    const step = { name: "s", outcome: { case: "value", value: json(1) } } as const;
    await client.unary(work.recordSteps, { lease: leaseRef(first), steps: [step] });
    const request = {
      lease: leaseRef(first),
      seenThrough: 3,
      waits: [timer(2_000, "soon"), timer()],
    };
    expect(await client.unary(work.suspend, request)).toMatchObject({
      existing: false,
      status: TaskStatus.SUSPENDED,
      version: 2,
    });
    const { task } = await client.unary(run.getTask, { runId: "r", task: "only" });
    expect(task).toMatchObject({ status: TaskStatus.SUSPENDED, attempt: 1, attemptsLeft: 4 });
    expect(task?.waitsFor).toMatch(
      /^Task "only" waits \d+ m?s for timer "soon" or 60 min for timer "pause"\.$/,
    );
    const again = await claim(client, "kind-r");
    expect(again).toMatchObject({ attempt: 1, leaseVersion: 2, moreSteps: false });
    expect(again.outcomes).toMatchObject([{ name: "soon", outcome: { case: "timer" }, number: 5 }]);
    expect(again.steps.map(({ name, number }) => [name, number])).toEqual([["s", 3]]);
  });

  test("that waits for nothing that is not there already is READY at once", async () => {
    const client = server[protocol];
    const lease = leaseRef(await leasedRun(client, "r"));
    const request = { lease, waits: [timer(0)] };
    expect((await client.unary(work.suspend, request)).status).toBe(TaskStatus.READY);
    expect((await client.unary(work.suspend, request)).existing).toBe(true);
    await complete(client, await claim(client, "kind-r"), "done");
  });
});

describe("a suspend item on the worker stream", () => {
  test("frees the lease, is answered like any other, and the task comes back on the stream", async () => {
    await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const worker = await TestWorker.connect(server.grpc, {}, { credits: 2 });
    const { handle, leaseVersion } = await worker.offer();
    const item = { handle, leaseVersion, correlation: 1, waits: [timer(30)] };
    worker.send({ suspends: [item] });
    expect(await worker.answer(1)).toBe("accepted");
    const again = await worker.offer();
    expect(again).toMatchObject({ attempt: 1, leaseVersion: 2 });
    expect(again.outcomes.map(({ name }) => name)).toEqual(["pause"]);
    worker.send({ suspends: [{ ...item, correlation: 2 }] });
    expect(await worker.reason(2)).toBe("PAWL_LEASE_LOST");
  });
});

describe("GetRecords", () => {
  test.each(["grpc", "json"] as const)(
    "gives over %s what the offer gives, of each kind of step",
    async (protocol) => {
      const client = server[protocol];
      const lease = leaseRef(await leasedRun(server.grpc, "r"));
      const value = { case: "value", value: json(1) } as const;
      const failure = create(FailureSchema, { kind: "No", message: "not today" });
      await client.unary(work.recordSteps, {
        lease,
        steps: [
          create(StepItemSchema, { name: "plain", outcome: value }),
          create(StepItemSchema, {
            name: "keyed",
            key: "k",
            outcome: value,
            read: true,
            seenThrough: 2,
          }),
          create(StepItemSchema, { name: "published", outcome: value, publishes: "city" }),
          create(StepItemSchema, { name: "failed", outcome: { case: "failure", value: failure } }),
          create(StepItemSchema, {
            name: "undone",
            outcome: value,
            rollback: { operation: "refund", target: "card" },
          }),
        ],
      });
      await client.unary(work.suspend, { lease, waits: [timer(0)] });
      const offer = await claim(server.grpc, "kind-r");
      const pages: StepRecord[] = [];
      for await (const page of client.stream(work.getRecords, { lease: leaseRef(offer) })) {
        pages.push(...page.steps);
      }
      expect(pages.map(({ name, publishes }) => [name, publishes])).toEqual([
        ["plain", undefined],
        ["keyed", undefined],
        ["published", "city"],
        ["failed", undefined],
        ["undone", undefined],
      ]);
      const plain = (step: StepRecord): unknown => toJson(StepRecordSchema, step);
      expect(pages.map(plain)).toEqual(offer.steps.map(plain));
    },
  );

  test("pages steps and outcomes together, by event number", async () => {
    const client = server.grpc;
    const big = json("x".repeat(30_000));
    let offer = await leasedRun(client, "r");
    for (let turn = 0; turn < 12; turn++) {
      const lease = leaseRef(offer);
      const step = { name: `s${turn}`, outcome: { case: "value", value: big } } as const;
      await client.unary(work.recordSteps, { lease, steps: [step] });
      await client.unary(work.suspend, { lease, waits: [timer(0, `t${turn}`)] });
      offer = await claim(client, "kind-r");
    }
    expect(offer.moreSteps).toBe(true);
    const names = offer.steps.map(({ name, number }) => ({ name, number }));
    names.push(...offer.outcomes.map(({ name, number }) => ({ name, number })));
    const last = Math.max(...names.map(({ number }) => number));
    const request = { lease: leaseRef(offer), afterNumber: last };
    for await (const page of client.stream(work.getRecords, request)) {
      names.push(...page.steps, ...page.outcomes);
    }
    const inOrder = names.toSorted((one, other) => one.number - other.number);
    expect(inOrder.map(({ name }) => name)).toEqual(
      Array.from({ length: 12 }, (_, turn) => [`s${turn}`, `t${turn}`]).flat(),
    );
  });
});

describe.each(["grpc", "json"] as const)("an input request over %s", (protocol) => {
  test("is found in the inbox, answered once, and its task goes on with the answer", async () => {
    const client = server[protocol];
    const inputId = await askingRun(client, "r");
    await askingRun(client, "other", { addressee: "bob", schema: "" });
    const forAnn = await client.unary(run.listInputs, { addressee: "ann" });
    expect(forAnn.inputs).toMatchObject([
      { inputId, runId: "r", task: "only", question: "How much?", version: 1 },
    ]);
    expect((await client.unary(run.listInputs, {})).inputs).toHaveLength(2);
    expect((await client.unary(run.listInputs, { forAnybody: true })).inputs).toEqual([]);
    const answer = { case: "given", value: json({ cents: 5 }) } as const;
    const request = { inputId, expectedVersion: 1, answer };
    expect(await client.unary(run.provideInput, request)).toMatchObject({
      existing: false,
      version: 2,
    });
    expect((await client.unary(run.provideInput, request)).existing).toBe(true);
    expect((await client.unary(run.listInputs, { addressee: "ann" })).inputs).toEqual([]);
    const { input } = await client.unary(run.getInput, { inputId });
    expect(input).toMatchObject({ status: InputStatus.ANSWERED, answeredBy: "local" });
    const { outcomes } = await claim(client, "kind-r");
    expect(outcomes).toMatchObject([
      { name: "ask", outcome: { case: "input", value: { inputId, answer: { case: "given" } } } },
    ]);
  });
});

test("questions for anybody are listed apart, in a run and across runs", async () => {
  const client = server.grpc;
  await askingRun(client, "r");
  const inputId = await askingRun(client, "open", { addressee: "", schema: "" });
  for (const runId of ["", "open"]) {
    const { inputs } = await client.unary(run.listInputs, { runId, forAnybody: true });
    expect(inputs).toMatchObject([{ inputId, addressee: "" }]);
  }
  const ofOther = await client.unary(run.listInputs, { runId: "r", forAnybody: true });
  expect(ofOther.inputs).toEqual([]);
  await expect(
    client.unary(run.listInputs, { addressee: "ann", forAnybody: true }),
  ).rejects.toMatchObject({ reason: "PAWL_INVALID_FIELD" });
});

describe("the check of an answer", () => {
  test("says what does not fit, and cuts off a pattern that never ends", async () => {
    const client = server.grpc;
    const schema = JSON.stringify({ type: "string", pattern: "^(a+)+$" });
    const inputId = await askingRun(client, "r", { schema });
    const refusedWith = async (value: unknown): Promise<string> => {
      const answer = { case: "given", value: json(value) } as const;
      const given = client.unary(run.provideInput, { inputId, expectedVersion: 1, answer });
      return await given.then(String, (error: Error) => error.message);
    };
    expect(await refusedWith(5)).toContain("answer must be string");
    expect(await refusedWith(`${"a".repeat(60)}!`)).toContain("took longer than 1000 ms");
    expect(await refusedWith(6)).toContain("answer must be string");
  });
});

describe("a schema that names itself", () => {
  test("as the specification's own, or as another one, is found by no other", async () => {
    const client = server.grpc;
    const draft = "https://json-schema.org/draft/2020-12/schema";
    await askingRun(client, "r", { schema: JSON.stringify({ $id: draft, type: "string" }) });
    await askingRun(client, "s", {
      schema: JSON.stringify({ $defs: { a: { $id: "urn:a", type: "string" } } }),
    });
    const inputId = await askingRun(client, "t", { schema: JSON.stringify({ type: "number" }) });
    const answer = { case: "given", value: json("x") } as const;
    const given = client.unary(run.provideInput, { inputId, expectedVersion: 1, answer });
    await expect(given).rejects.toThrow("answer must be number");
  });
});

describe.each(["grpc", "json"] as const)("a signal over %s", (protocol) => {
  test("that comes early, twice, and with content above the inline bound is taken once, whole", async () => {
    const client = server[protocol];
    const first = await leasedRun(client, "r");
    const payload = json("x".repeat(40_000));
    const request = { runId: "r", name: "go", requestId: "q1", payload };
    expect((await client.unary(run.sendSignal, request)).existing).toBe(false);
    expect((await client.unary(run.sendSignal, request)).existing).toBe(true);
    const subject = { case: "signal", value: { signal: "go" } } as const;
    const waits = [{ name: "go", subject }];
    const { status } = await client.unary(work.suspend, { lease: leaseRef(first), waits });
    expect(status).toBe(TaskStatus.READY);
    const { outcomes } = await claim(client, "kind-r");
    const [{ outcome } = {}] = outcomes;
    expect(outcome).toMatchObject({
      case: "signal",
      value: { principal: "local", payload: { body: { case: "blob" } } },
    });
  });

  test("beside a start reaches the run, new or not", async () => {
    const client = server[protocol];
    const signal = { name: "go", requestId: "q1", payload: json(1) };
    const start = { runs: [oneTask("r", "kind-r", { signal })] };
    expect((await client.unary(run.startRuns, start)).results[0]?.existing).toBe(false);
    const again = { runs: [oneTask("r", "kind-r", { signal: { ...signal, requestId: "q2" } })] };
    expect((await client.unary(run.startRuns, again)).results[0]?.existing).toBe(true);
    const lease = leaseRef(await claim(client, "kind-r"));
    const wait = (name: string) =>
      ({ name, subject: { case: "signal", value: { signal: "go" } } }) as const;
    await client.unary(work.suspend, { lease, waits: [wait("one"), wait("two")] });
    const { outcomes } = await claim(client, "kind-r");
    expect(outcomes.map(({ name }) => name)).toEqual(["one", "two"]);
  });
});
