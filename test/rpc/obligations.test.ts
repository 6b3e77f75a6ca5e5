import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, complete, json, leasedRun, leaseRef, oneTask, textOf } from "./support/fixtures.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: work } = WorkerService;
const { OPEN, DELIVERED, NOT_FOUND, RUN_OVER } = ObligationStatus;

let server: TestServer;

beforeEach(async () => {
  server = await openTestServer();
});
afterEach(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

const signal = { case: "signal", value: { signal: "go", payload: json({ n: 1 }) } } as const;

describe.each(["grpc", "json"] as const)("over %s", (protocol) => {
  test("a task tells other runs, sees their answers, and sends nothing twice", async () => {
    const client = server[protocol];
    const lease = leaseRef(await leasedRun(client, "sender"));
    await leasedRun(client, "receiver");
    await complete(client, await leasedRun(client, "ended"), "done");
    const obligations = [
      { correlation: 7, name: "one", runId: "receiver", order: signal },
      { correlation: 8, name: "two", runId: "nobody", order: signal },
      { correlation: 9, name: "three", runId: "ended", order: signal },
      {
        name: "four",
        runId: "receiver",
        order: { case: "cancel", value: { reason: "enough" } } as const,
      },
    ];
    const request = { lease, obligations };
    const first = await client.unary(work.recordObligations, request);
    const statuses = [DELIVERED, NOT_FOUND, RUN_OVER, DELIVERED];
    expect(first.results.map(({ obligation }) => obligation?.status)).toEqual(statuses);
    expect(first.results.map(({ correlation }) => correlation)).toEqual([7, 8, 9, 0]);
    expect(first.results.some(({ existing }) => existing)).toBe(false);
    const second = await client.unary(work.recordObligations, request);
    expect(second.results.map(({ obligation }) => obligation)).toEqual(
      first.results.map(({ obligation }) => obligation),
    );
    expect(second.results.every(({ existing }) => existing)).toBe(true);
    const told: string[] = [];
    for await (const { events } of client.stream(run.getHistory, { runId: "receiver" })) {
      told.push(...events.map(({ type, detail }) => `${type}: ${detail}`));
    }
    expect(told.slice(-2)).toEqual([
      'SignalReceived: Signal "go" came from run "sender".',
      'CancelRequested: The run was asked to stop by run "sender" ("enough").',
    ]);
    const sent: string[] = [];
    for await (const { events } of client.stream(run.getHistory, { runId: "sender" })) {
      sent.push(...events.map(({ detail }) => detail));
    }
    expect(sent).toContain('It sends signal "go" to run "receiver".');
    expect(sent).toContain('Run "receiver" has recorded it (obligation 0).');
    expect(sent).toContain('Run "ended" had ended (obligation 2).');
  });

  test("an answer that is not there yet is waited for without a lease", async () => {
    const client = server[protocol];
    const lease = leaseRef(await leasedRun(client, "sender"));
    const receiver = await leasedRun(client, "receiver");
    await client.unary(work.renewLeases, { leases: [lease] });
    await client.unary(run.pauseRun, { runId: "sender", reason: "look" });
    const obligations = [{ name: "one", runId: "receiver", order: signal }];
    const { results } = await client.unary(work.recordObligations, { lease, obligations });
    expect(results[0]?.obligation).toMatchObject({ obligation: 0, status: OPEN });
    const subject = { case: "obligation", value: { obligation: 0 } } as const;
    await client.unary(work.suspend, { lease, waits: [{ name: "answer", subject }] });
    await client.unary(run.resumeRun, { runId: "sender" });
    const again = await claim(client, "kind-sender");
    expect(again.outcomes).toMatchObject([
      {
        name: "answer",
        outcome: {
          case: "obligation",
          value: { obligation: 0, runId: "receiver", status: DELIVERED },
        },
      },
    ]);
    const waits = [{ name: "go", subject: { case: "signal", value: { signal: "go" } } as const }];
    await client.unary(work.suspend, { lease: leaseRef(receiver), waits });
    const { outcomes } = await claim(client, "kind-receiver");
    const got = outcomes[0]?.outcome;
    expect(got?.case === "signal" && [got.value.fromRunId, textOf(got.value.payload)]).toEqual([
      "sender",
      '{"n":1}',
    ]);
  });
});

describe("an obligation item on the worker stream", () => {
  test("is answered with where it stands, and refused as any other", async () => {
    await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const worker = await TestWorker.connect(server.grpc, {}, { credits: 2 });
    const { handle, leaseVersion } = await worker.offer();
    const item = { handle, leaseVersion, name: "self", runId: "r", order: signal };
    worker.send({ obligations: [{ ...item, correlation: 1 }] });
    expect(await worker.answer(1)).toMatchObject({
      existing: false,
      obligation: { obligation: 0, status: DELIVERED },
    });
    worker.send({ obligations: [{ ...item, correlation: 2 }] });
    expect(await worker.answer(2)).toMatchObject({ existing: true });
    worker.send({ obligations: [{ ...item, runId: "other", correlation: 3 }] });
    expect(await worker.reason(3)).toBe("PAWL_FINGERPRINT_CONFLICT");
  });
});
