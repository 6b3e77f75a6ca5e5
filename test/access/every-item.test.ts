import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService, type SubmitRequestSchema } from "@pawl/proto/v1/run_service_pb.js";
import {
  HelloSchema,
  WorkerService,
  type WorkRequestSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { json, oneTask, operation } from "../rpc/support/fixtures.js";
import type { GrpcClient } from "../rpc/support/grpc-client.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { TestWorker } from "../rpc/support/worker.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

type Submit = MessageInitShape<typeof SubmitRequestSchema>;
type Work = MessageInitShape<typeof WorkRequestSchema>;

/** One of each kind of item of Submit. */
const submits: Readonly<Record<string, Submit>> = {
  starts: { starts: [{ ...oneTask("theirs-too", "k"), correlation: 1 }] },
  waits: { waits: [{ runId: "secret-run", correlation: 1 }] },
  signals: { signals: [{ runId: "secret-run", name: "go", requestId: "q", correlation: 1 }] },
};

const lease = { handle: 1, leaseVersion: 1, correlation: 1 };
const key = "task/ours/secret-run/1/only/wire/1";
const observation = { outcome: { case: "result", value: json("stolen") } } as const;

/** One of each kind of item of Work, about a lease of another namespace: by its handle, and by name where an item may name it. */
const works: Readonly<Record<string, Work>> = {
  progress: { progress: [{ ...lease, progress: json("stolen") }] },
  steps: { steps: [{ ...lease, name: "s", outcome: { case: "value", value: json("stolen") } }] },
  observations: {
    observations: [{ ...lease, intentId: "i1", key, observation, runId: "secret-run" }],
  },
  reconciliations: {
    reconciliations: [
      {
        ...{ ...lease, intentId: "i2", key, lookedUpIntentId: "i1" },
        reconciliation: { finding: { case: "found", value: json("stolen") } },
      },
    ],
  },
  intents: { intents: [{ ...lease, intentId: "i9", operation: operation("wire") }] },
  reports: {
    reports: [
      {
        ...{ ...lease, runId: "secret-run", task: "only" },
        outcome: { case: "output", value: json("stolen") },
      },
    ],
  },
  releases: { releases: [lease] },
  suspends: { suspends: [{ ...lease, waits: [] }] },
  emits: { emits: [{ ...lease, channel: "c", number: 1, payload: json("stolen") }] },
  obligations: {
    obligations: [
      {
        ...{ ...lease, name: "o", runId: "secret-run" },
        order: { case: "cancel", value: { reason: "stolen" } },
      },
    ],
  },
  children: {
    children: [
      {
        ...{ ...lease, name: "c", workflow: "stolen" },
        plan: { tasks: [{ name: "only", kind: "k" }] },
      },
    ],
  },
  calls: { calls: [{ ...lease, tasks: [{ name: "sub", kind: "k" }] }] },
  waits: { waits: [{ ...lease, waits: [] }] },
};

/** Items that are memory only, or of which no answer is said when they were refused by their handle. */
const unanswered = ["progress", "emits"];

let server: GuardedServer;
let ours: GrpcClient;
let theirs: GrpcClient;
let holder: TestWorker;
const tokens = new Map<string, string>();

beforeAll(async () => {
  server = await openGuardedServer();
  const admin = await server.mint("root", [{ namespace: "*", roles: ["admin"] }]);
  const mint = async (name: string, namespace: string, roles: readonly string[]) =>
    (await server.mint(name, [{ namespace, roles }])).token;
  for (const name of ["ours", "theirs"]) {
    await server.grpcWith(admin.token).unary(AdminService.method.createNamespace, { name });
  }
  ours = server.grpcWith(await mint("ours", "ours", ["worker", "client"]));
  theirs = server.grpcWith(await mint("theirs", "theirs", ["worker", "client"]));
  for (const role of ["worker", "client", "approver", "operator", "admin"]) {
    tokens.set(role, await mint(`the-${role}`, "ours", [role]));
  }
  await ours.unary(run.startRuns, { namespace: "ours", runs: [oneTask("secret-run", "k")] });
  holder = await TestWorker.connect(ours, { namespace: "ours", sessionId: "s" }, { credits: 1 });
  const { handle } = await holder.offer();
  expect(handle).toBe(1);
  const intent = { ...lease, intentId: "i1", operation: operation("wire") };
  holder.send({ intents: [intent] });
  await holder.answer(1);
});
afterAll(async () => {
  holder.stream.cancel();
  await server.close();
  expect(server.faults).toEqual([]);
});

async function historyOf(runId: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { events } of ours.stream(run.getHistory, { namespace: "ours", runId })) {
    types.push(...events.map(({ type }) => type));
  }
  return types;
}

/** How an item of Submit was refused; undefined when it was not. */
async function refusalOf(client: GrpcClient, request: Submit): Promise<string | undefined> {
  const stream = client.duplex(run.submit);
  stream.send(request);
  try {
    const { started, results, signals } = await stream.next();
    return [...started, ...results, ...signals][0]?.rejection?.reason;
  } catch (error) {
    return codeAndReason(error);
  } finally {
    stream.cancel();
  }
}

/** Kinds of items that a stream takes: fields that hold messages. */
function kindsOf(message: DescMessage): string[] {
  return message.fields
    .filter((field) => field.fieldKind === "list" && field.listKind === "message")
    .map(({ localName }) => localName);
}

test("each kind of item that a stream takes is looked at here", () => {
  expect(Object.keys(submits).toSorted()).toEqual(kindsOf(run.submit.input).toSorted());
  expect(Object.keys(works).toSorted()).toEqual(kindsOf(work.work.input).toSorted());
});

describe.each(Object.entries(submits))("an item of Submit (%s)", (_kind, request) => {
  test("is taken from a client alone", async () => {
    for (const [role, token] of tokens) {
      if (role === "client") continue;
      const said = await refusalOf(server.grpcWith(token), { ...request, namespace: "ours" });
      expect([role, said]).toEqual([role, "PAWL_PERMISSION_DENIED"]);
    }
  });

  test("about another namespace is refused as about one that is not there", async () => {
    const before = await historyOf("secret-run");
    for (const namespace of ["ours", "nowhere"]) {
      const said = await refusalOf(theirs, { ...request, namespace });
      expect(said).toBe("PAWL_NAMESPACE_NOT_FOUND");
    }
    expect(await historyOf("secret-run")).toEqual(before);
    const { runs } = await ours.unary(run.listRuns, { namespace: "ours" });
    expect(runs.map(({ runId }) => runId)).toEqual(["secret-run"]);
  });
});

describe.each(Object.entries(works))("an item of Work (%s)", (kind, item) => {
  test("is taken from a worker alone, and from nobody who has not said hello", async () => {
    const hello = {
      protocolVersion: 1,
      sessionId: "x",
      namespace: "ours",
      serves: [{ kind: "k" }],
    };
    for (const [role, token] of tokens) {
      const stream = server.grpcWith(token).duplex(work.work);
      stream.send(role === "worker" ? item : { ...item, hello: create(HelloSchema, hello) });
      const said =
        role === "worker"
          ? "INVALID_ARGUMENT PAWL_INVALID_FIELD"
          : "PERMISSION_DENIED PAWL_PERMISSION_DENIED";
      expect([role, codeAndReason(await stream.ended())]).toEqual([role, said]);
    }
  });

  test("about a lease of another namespace changes nothing of it, whatever it names", async () => {
    const before = await historyOf("secret-run");
    // The same session id and handle, and every name right.
    const thief = await TestWorker.connect(theirs, { namespace: "theirs", sessionId: "s" });
    thief.send(item);
    if (!unanswered.includes(kind)) {
      const reason = await thief.reason(1);
      expect(reason).toMatch(/^PAWL_(LEASE_LOST|RUN_NOT_FOUND|OPERATION_NOT_FOUND|INVALID_FIELD)$/);
    }
    thief.send({ ping: 5 });
    await thief.receiveWhere(({ pong }) => pong === 5);
    thief.stream.cancel();
    expect(await historyOf("secret-run")).toEqual(before);
    const { task } = await ours.unary(run.getTask, {
      ...{ namespace: "ours", runId: "secret-run", task: "only" },
    });
    expect(task).toMatchObject({ leaseVersion: 1, worker: "tester" });
    expect(task?.progress).toBeUndefined();
  });
});
