import { create } from "@bufbuild/protobuf";
import { FailureOrigin, FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { RunService, UpdateStatus } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claim, complete, json, leasedRun, leaseRef, textOf } from "./support/fixtures.js";
import type { RpcClient } from "./support/rpc-client.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
import { acceptance, takenUpdate, updateWait } from "./support/update-cases.js";

const { method: worker } = WorkerService;
const { method: run } = RunService;

const sent = { name: "move", updateId: "u1", payload: json({ to: "Bonn" }) };
const forLong = { seconds: 50n };

describe.each(["grpc", "json"] as const)("updates over %s", (protocol) => {
  let server: TestServer;
  let client: RpcClient;

  beforeAll(async () => {
    server = await openTestServer();
    client = server[protocol];
  });
  afterAll(async () => {
    await server.close();
    expect(server.faults).toEqual([]);
  });

  test("an update comes with its id and sender, and its sender waits for the answer", async () => {
    const runId = "answered";
    const first = leaseRef(await leasedRun(client, runId));
    await client.unary(worker.suspend, { lease: first, waits: [updateWait] });
    const waiting = client.unary(run.updateRun, { runId, ...sent, wait: forLong });
    const offer = await claim(client, `kind-${runId}`);
    const outcome = offer.outcomes[0]?.outcome;
    expect(outcome).toMatchObject({
      case: "update",
      value: { number: 0, updateId: "u1", principal: "local" },
    });
    expect(outcome?.case === "update" && textOf(outcome.value.payload)).toBe('{"to":"Bonn"}');
    const lease = leaseRef(offer);
    await client.unary(worker.recordSteps, { lease, steps: [acceptance] });
    const { answer, existing } = await waiting;
    expect(existing).toBe(false);
    expect(answer?.status).toBe(UpdateStatus.ACCEPTED);
    expect(textOf(answer?.result)).toBe('"moved"');
    expect(answer?.answeredAt).toBeDefined();

    await complete(client, offer, "done");
    const again = await client.unary(run.updateRun, { runId, ...sent });
    expect(again.existing).toBe(true);
    expect(textOf(again.answer?.result)).toBe('"moved"');
    const known = await client.unary(run.getUpdate, { runId, updateId: "u1", wait: forLong });
    expect(known.name).toBe("move");
    expect(textOf(known.answer?.result)).toBe('"moved"');
  });

  test("an update without an answer is OPEN, and a refused one tells why", async () => {
    const runId = "refused";
    const lease = await takenUpdate(client, runId);
    const open = await client.unary(run.getUpdate, { runId, updateId: "u1" });
    expect(open.answer?.status).toBe(UpdateStatus.OPEN);
    const waiting = client.unary(run.getUpdate, { runId, updateId: "u1", wait: forLong });
    const failure = create(FailureSchema, {
      ...{ kind: "UpdateRefused", message: "It is shipped." },
      origin: FailureOrigin.HANDLER,
    });
    const outcome = { case: "failure", value: failure } as const;
    await client.unary(worker.recordSteps, { lease, steps: [{ ...acceptance, outcome }] });
    expect((await waiting).answer).toMatchObject({
      status: UpdateStatus.REFUSED,
      reason: "It is shipped.",
    });
  });

  test("a wait for an answer is over after its time, and loses nothing", async () => {
    const runId = "unanswered";
    await leasedRun(client, runId);
    const wait = { nanos: 20_000_000 };
    const { answer } = await client.unary(run.updateRun, { runId, ...sent, wait });
    expect(answer?.status).toBe(UpdateStatus.OPEN);
    const known = await client.unary(run.getUpdate, { runId, updateId: "u1", wait });
    expect(known.answer?.status).toBe(UpdateStatus.OPEN);
  });
});

describe.each(["grpc", "json"] as const)("published values over %s", (protocol) => {
  let server: TestServer;
  let client: RpcClient;

  beforeAll(async () => {
    server = await openTestServer();
    client = server[protocol];
  });
  afterAll(async () => {
    await server.close();
    expect(server.faults).toEqual([]);
  });

  test("what is published is served, also after the end, with where it comes from", async () => {
    const runId = "published";
    const offer = await leasedRun(client, runId);
    const publish = (key: string, name: string, content: unknown) => ({
      ...{ name: "$publish", key, publishes: name },
      outcome: { case: "value", value: json(content) } as const,
    });
    const steps = [
      publish("1", "status", "begun"),
      publish("2", "left", 7),
      publish("3", "status", "half"),
    ];
    await client.unary(worker.recordSteps, { lease: leaseRef(offer), steps });
    const status = await client.unary(run.queryRun, { runId, name: "status" });
    expect(textOf(status.value)).toBe('"half"');
    expect(status.published).toMatchObject({
      name: "status",
      version: 2,
      task: "only",
      attempt: 1,
      incarnation: 1,
    });
    expect(status.published?.publishedAt).toBeDefined();
    // Sent again, an earlier value takes the place of none.
    await client.unary(worker.recordSteps, { lease: leaseRef(offer), steps: steps.slice(0, 1) });
    await complete(client, offer, "done");
    const { value } = await client.unary(run.queryRun, { runId, name: "status" });
    expect(textOf(value)).toBe('"half"');
    const { published } = await client.unary(run.listQueries, { runId });
    expect(published.map(({ name, version }) => [name, version])).toEqual([
      ["left", 1],
      ["status", 2],
    ]);
  });

  test("history and watchers see what was published and answered", async () => {
    const runId = "seen";
    const lease = await takenUpdate(client, runId);
    const publication = {
      ...{ name: "$publish", key: "1", publishes: "status" },
      outcome: { case: "value", value: json("half") } as const,
    };
    await client.unary(worker.recordSteps, { lease, steps: [acceptance, publication] });
    const details: string[] = [];
    for await (const { events } of client.stream(run.getHistory, { runId })) {
      details.push(...events.map(({ detail }) => detail));
    }
    expect(details).toEqual(
      expect.arrayContaining([
        'Update "move" came.',
        "It accepted update 0.",
        'It published "status".',
      ]),
    );
  });
});
