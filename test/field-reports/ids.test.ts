import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { connect, operation as declare, json as jsonSchema, task } from "@pawl/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { json, leasedRun, leaseRef, oneTask, operation } from "../rpc/support/fixtures.js";
import { Refusal } from "../rpc/support/refusal.js";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { eventsOf } from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;
const { method: ops } = OperationService;
const { method: reviews } = ReviewService;

let server: TestServer;
let offer: Offer;

beforeAll(async () => {
  server = await openTestServer();
  offer = await leasedRun(server.grpc, "open");
});

afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

const step = { outcome: { case: "value" as const, value: json(1) } };

/** Starts a run and throws what an item of a batch is refused with. */
async function start(parts: Parameters<typeof oneTask>[2], runId = "fresh"): Promise<void> {
  const { results } = await server.grpc.unary(run.startRuns, {
    runs: [oneTask(runId, "k", parts)],
  });
  refuseItem(results[0]);
}

function refuseItem(
  item: { readonly rejection?: { message: string; reason: string } | undefined } | undefined,
): void {
  if (item?.rejection !== undefined) {
    const { message, reason } = item.rejection;
    throw new Refusal({ code: "INVALID_ARGUMENT", reason, message });
  }
}

/** Calls that change something, with an id of the test's choice in one field. */
const fields: readonly (readonly [string, (id: string) => Promise<unknown>])[] = [
  ["run_id of a start", (id) => start({}, id)],
  ["workflow of a start", (id) => start({ workflow: id })],
  ["tasks[0].name of a plan", (id) => start({ plan: { tasks: [{ name: id, kind: "k" }] } })],
  ["tasks[0].kind of a plan", (id) => start({ plan: { tasks: [{ name: "only", kind: id }] } })],
  ["run_id of a cancellation", (id) => server.grpc.unary(run.cancelRun, { runId: id })],
  ["run_id of a termination", (id) => server.grpc.unary(run.terminateRun, { runId: id })],
  [
    "session_id of a claim",
    (id) => claimAs({ sessionId: id, serves: [{ kind: "k" }], once: true }),
  ],
  ["kind of a claim", (id) => claimAs({ sessionId: "s", serves: [{ kind: id }], once: true })],
  [
    "run_id of a lease",
    (id) => server.grpc.unary(work.releaseTask, { lease: { ...leaseRef(offer), runId: id } }),
  ],
  [
    "task of a lease",
    (id) => server.grpc.unary(work.releaseTask, { lease: { ...leaseRef(offer), task: id } }),
  ],
  [
    "name of a step",
    async (id) => {
      const steps = [{ ...step, name: id }];
      const lease = leaseRef(offer);
      refuseItem((await server.grpc.unary(work.recordSteps, { lease, steps })).results[0]);
    },
  ],
  ["name of an operation", (id) => intend({ name: id })],
  [
    "intent_id of an intent",
    (id) =>
      server.grpc.unary(ops.intendOperation, {
        ...{ holder: leaseRef(offer), intentId: id, operation: operation("o") },
      }),
  ],
  [
    "review_id of a decision",
    (id) =>
      server.grpc.unary(reviews.resolveReview, {
        ...{ reviewId: id, expectedVersion: 1, reason: "seen", choice: ReviewChoice.ABANDON },
      }),
  ],
];

function intend(parts: Parameters<typeof operation>[2]): Promise<unknown> {
  const request = operation("o", SinkKind.OPAQUE, { scope: OperationScope.TASK, ...parts });
  return server.grpc.unary(ops.intendOperation, {
    ...{ holder: leaseRef(offer), intentId: "i", operation: request },
  });
}

async function claimAs(request: { sessionId: string; serves: { kind: string }[]; once: boolean }) {
  for await (const _ of server.grpc.stream(work.claimTasks, request)) {
    // Only how it ends is looked at.
  }
}

/** The refusal of a call, at most 500 characters of it. */
async function answerOf(call: Promise<unknown>): Promise<string> {
  const answer = await call.then(
    () => "taken",
    (error: unknown) => error,
  );
  return String(answer instanceof Refusal ? answer.message : answer).slice(0, 500);
}

/** What names the field: a refusal of the whole plan does when the id alone is longer than a plan may be. */
function refusalOf(field: string, isHuge: boolean): RegExp {
  if (field === "review_id") return /^(INVALID_ARGUMENT|NOT_FOUND) PAWL_/;
  const names = isHuge && field.startsWith("tasks") ? "plan" : field.replace("[0]", ".0.");
  return new RegExp(`^INVALID_ARGUMENT PAWL_INVALID_FIELD: Expected .*${names}`);
}

describe("an id that is none", () => {
  const bad = [
    ["empty", ""],
    ["a million bytes", "x".repeat(1_000_000)],
    ["with NUL", "a\0b"],
  ] as const;

  test.each(bad)(
    "(%s) is refused in every call that changes something, and nothing is stored",
    async (_, id) => {
      const before = await eventsOf(server.grpc, offer.runId);
      const runs = (await server.grpc.unary(run.listRuns, {})).runs.length;
      const answers: [string, string][] = [];
      for (const [name, call] of fields) answers.push([name, await answerOf(call(id))]);
      expect(answers).toEqual(
        fields.map(([name]) => {
          const [field = ""] = name.split(" ");
          return [name, expect.stringMatching(refusalOf(field, id.length > 1_000))];
        }),
      );
      expect(await eventsOf(server.grpc, offer.runId)).toEqual(before);
      expect((await server.grpc.unary(run.listRuns, {})).runs.length).toBe(runs);
    },
  );
});

describe("ids that only look alike", () => {
  test("are runs of their own, each with its own content", async () => {
    const ids = [
      " ",
      "  ",
      "!",
      "..",
      ".",
      "/",
      "a",
      "a!",
      "a/b",
      "a%2Fb",
      "run1",
      "run10",
      "é",
      "e\u0301",
      "\u{10ffff}",
    ];
    for (const id of ids) {
      const { results } = await server.grpc.unary(run.startRuns, {
        runs: [oneTask(id, "alike", { input: json(id) })],
      });
      expect(results[0]).toMatchObject({ existing: false });
    }
    for (const id of ids) {
      const { run: view } = await server.grpc.unary(run.getRun, { runId: id });
      expect(view?.runId).toBe(id);
      const again = await server.grpc.unary(run.startRuns, {
        runs: [oneTask(id, "alike", { input: json(id) })],
      });
      expect(again.results[0]).toMatchObject({ existing: true });
    }
    await server.grpc.unary(run.terminateRun, { runId: "run1", reason: "only this one" });
    const { run: neighbour } = await server.grpc.unary(run.getRun, { runId: "run10" });
    expect(neighbour?.closedAt).toBeUndefined();
  });

  test("with half of a surrogate pair are refused by the SDK before anything is sent", async () => {
    const client = connect({ url: `http://127.0.0.1:${server.server.port}` });
    const half = "op:\ud800";
    const some = task("some", { input: jsonSchema<string>() });
    const pay = declare("pay", {
      payload: jsonSchema<string>(),
      result: jsonSchema<string>(),
      call: () => "paid",
    });
    const refusals = [
      () => client.start(some, "x", { runId: half }),
      () => client.start(some, half),
      () => client.perform(pay, "x", { scope: "namespace", key: half }),
      () => client.perform(pay, half, { scope: "namespace", key: "k" }),
      async () => client.run(half),
      async () => task(half),
    ].map((call) => async () => call());
    for (const refused of refusals) {
      await expect(refused()).rejects.toMatchObject({ retryable: false });
    }
    expect(client.connection.status).not.toBe("connected");
    await client.close();
  });
});
