import type { MessageInitShape } from "@bufbuild/protobuf";
import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Offer, ReportItemSchema, StepItemSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { json, jsonText, oneTask, textOf } from "./support/fixtures.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;

const server = eachTestServer();

type Outcome = NonNullable<MessageInitShape<typeof ReportItemSchema>["outcome"]>;

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

const connect = (hello = {}, more = { credits: 10 }): Promise<TestWorker> =>
  TestWorker.connect(server.grpc, hello, more);

test("an offer holds what the task needs, outputs in the order of its needs", async () => {
  await server.grpc.unary(run.startRuns, {
    runs: [
      {
        runId: "plan",
        workflow: "w",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        input: json("of the run"),
        plan: {
          tasks: [
            { name: "b", kind: "k" },
            { name: "a", kind: "k", input: json("of the task") },
            {
              name: "join",
              kind: "k",
              needs: ["b", "a"],
              timeouts: { startToClose: { seconds: 7n }, lease: { seconds: 9n } },
            },
          ],
        },
      },
    ],
  });
  const worker = await connect();
  const offers = [await worker.offer(), await worker.offer()];
  expect(offers.map(({ task, input }) => [task, textOf(input)])).toEqual([
    ["b", '"of the run"'],
    ["a", '"of the task"'],
  ]);
  worker.send({
    reports: offers.map((offer, index) => ({
      handle: offer.handle,
      leaseVersion: offer.leaseVersion,
      correlation: index + 1,
      outcome:
        offer.task === "a"
          ? { case: "noOutput" as const, value: {} }
          : { case: "output" as const, value: json("from b") },
    })),
  });
  const join = await worker.offer();
  expect(join).toMatchObject({
    task: "join",
    attempt: 1,
    leaseVersion: 1,
    leaseMs: 9_000,
    attemptMs: 7_000,
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    workflow: "w",
    incarnation: 1,
    planVersion: 1,
    moreSteps: false,
  });
  expect(join.dependencies.map(({ task, output }) => [task, textOf(output)])).toEqual([
    ["b", '"from b"'],
    ["a", undefined],
  ]);
  expect(join.seenThrough).toBeGreaterThan(4);
});

test("an offer after a failed attempt holds its steps and its last progress", async () => {
  await server.grpc.unary(run.startRuns, {
    runs: [
      oneTask("r", "k", {
        plan: { tasks: [{ name: "only", kind: "k", retry: { initialInterval: {} } }] },
      }),
    ],
  });
  const worker = await connect();
  const first = await worker.offer();
  const { handle, leaseVersion } = first;
  worker.send({
    steps: [step(first, 1, '{"plan":1}'), { ...step(first, 2, "2"), key: "loop-1", read: true }],
    progress: [{ handle, leaseVersion, progress: json("half way") }],
  });
  await worker.answer(2);
  worker.send({
    reports: [
      {
        handle,
        leaseVersion,
        correlation: 3,
        outcome: { case: "failure", value: { kind: "Boom", message: "x", retryable: true } },
      },
    ],
  });
  expect(await worker.answer(3)).toBe("accepted");
  const second = await worker.offer();
  expect(second).toMatchObject({ attempt: 2, leaseVersion: 2 });
  expect(second.steps.map(({ name, key, value }) => [name, key, textOf(value)])).toEqual([
    ["s", undefined, '{"plan":1}'],
    ["s", "loop-1", "2"],
  ]);
  expect(second.steps[0]?.observedAtMs).toBe(0);
  expect(second.steps[1]?.observedAtMs).toBeGreaterThan(0);
  expect(textOf(second.lastProgress)).toBe('"half way"');
});

test("an offer of a join that is too large to be sent inline carries references", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `part-${index}`);
  const part = "x".repeat(30_000);
  await server.grpc.unary(run.startRuns, {
    runs: [
      {
        runId: "big",
        workflow: "w",
        plan: {
          tasks: [
            ...names.map((name) => ({ name, kind: "k" })),
            { name: "join", kind: "k", needs: names },
          ],
        },
      },
    ],
  });
  const worker = await connect({}, { credits: 100 });
  for (const [index] of names.entries()) {
    const { handle, leaseVersion } = await worker.offer();
    worker.send({
      reports: [
        {
          handle,
          leaseVersion,
          correlation: index + 1,
          outcome: { case: "output", value: json(`${index}${part}`) },
        },
      ],
    });
  }
  const join = await worker.offer();
  const bodies = join.dependencies.map(({ output }) => output?.body);
  expect(bodies[0]?.case).toBe("data");
  const last = bodies.at(-1);
  if (last?.case !== "blob") {
    throw new Error("Expected the last output to be a reference.");
  }
  const chunks: Uint8Array[] = [];
  const request = { runId: "big", sha256: last.value.sha256 };
  for await (const { data } of server.grpc.stream(run.readBlob, request)) {
    chunks.push(data);
  }
  expect(Buffer.concat(chunks).toString()).toContain(part);
  expect(BigInt(Buffer.concat(chunks).length)).toBe(last.value.sizeBytes);
});

test("an output above the inline bound is stored apart, and handed on as a reference", async () => {
  const long = "y".repeat(200_000);
  await server.grpc.unary(run.startRuns, {
    runs: [
      {
        runId: "long",
        workflow: "w",
        plan: {
          tasks: [
            { name: "make", kind: "k" },
            { name: "use", kind: "k", needs: ["make"] },
          ],
          output: "make",
        },
      },
    ],
  });
  const worker = await connect();
  const make = await worker.offer();
  const lease = { handle: make.handle, leaseVersion: make.leaseVersion };
  // The step behind the long one keeps its place, and so does the report.
  worker.send({
    steps: [step(make, 1, JSON.stringify(long), "long"), step(make, 2, "2", "short")],
    reports: [{ ...lease, correlation: 3, outcome: { case: "output", value: json(long) } }],
  });
  for (const correlation of [1, 2, 3]) {
    expect(await worker.answer(correlation)).toBe("accepted");
  }
  const use = await worker.offer();
  const { body } = use.dependencies[0]?.output ?? {};
  if (body?.case !== "blob") {
    throw new Error("Expected a reference.");
  }
  const chunks: Uint8Array[] = [];
  const request = { runId: "long", sha256: body.value.sha256 };
  for await (const { data } of server.json.stream(run.readBlob, request)) {
    chunks.push(data);
  }
  expect(Buffer.concat(chunks).toString()).toBe(JSON.stringify(long));
});

test("an offer after a join holds what had ended by then, and how: no more in a later attempt", async () => {
  await server.grpc.unary(run.startRuns, {
    runs: [
      {
        runId: "joined",
        workflow: "w",
        plan: {
          tasks: [
            { name: "bad", kind: "k", retry: { attemptsMax: 1 } },
            { name: "behind", kind: "k", needs: ["bad"] },
            { name: "good", kind: "k" },
            { name: "late", kind: "k" },
            {
              name: "join",
              kind: "k",
              needs: ["late", "behind", "good", "bad"],
              retry: { initialInterval: {} },
              join: {
                atLeast: 3,
                rules: [
                  { task: "bad", onFailure: OnNeedFailure.CONTINUE },
                  { task: "behind", onFailure: OnNeedFailure.CONTINUE },
                ],
              },
            },
          ],
        },
      },
    ],
  });
  const worker = await connect();
  const offers = [await worker.offer(), await worker.offer(), await worker.offer()];
  const [bad, good, late] = ["bad", "good", "late"].map((name) => {
    const found = offers.find(({ task }) => task === name);
    if (found === undefined) throw new Error(`no offer of ${name}`);
    return found;
  });
  if (bad === undefined || good === undefined || late === undefined) throw new Error("no offers");
  const failing = (kind: string, retryable: boolean) =>
    ({ case: "failure", value: { kind, message: "no", retryable } }) as const;
  const report = (offer: Offer, correlation: number, outcome: Outcome): Promise<unknown> => {
    const { handle, leaseVersion } = offer;
    worker.send({ reports: [{ handle, leaseVersion, correlation, outcome }] });
    return worker.answer(correlation);
  };
  await report(bad, 1, failing("Broken", false));
  await report(good, 2, { case: "output", value: jsonText("7") });
  const expected = [
    ["behind", TaskStatus.SKIPPED, undefined, undefined],
    ["good", TaskStatus.COMPLETED, "7", undefined],
    ["bad", TaskStatus.FAILED, undefined, "Broken: no"],
  ];
  const inputsOf = ({ dependencies }: Offer): unknown[] =>
    dependencies.map(({ task, status, output, failure }) => [
      task,
      status,
      output === undefined ? undefined : textOf(output),
      failure === undefined ? undefined : `${failure.kind}: ${failure.message}`,
    ]);
  const first = await worker.offer();
  expect(inputsOf(first)).toEqual(expected);
  await report(late, 3, { case: "output", value: jsonText("8") });
  await report(first, 4, failing("Again", true));
  const view = await server.grpc.unary(run.getTask, { runId: "joined", task: "join" });
  expect(view.task?.join?.atLeast).toBe(3);
  expect(view.task?.inputsEvent).toBeGreaterThan(0);
  const second = await worker.offer();
  expect([second.attempt, inputsOf(second)]).toEqual([2, expected]);
});
