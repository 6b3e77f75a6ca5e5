import type { MessageInitShape } from "@bufbuild/protobuf";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import {
  type Offer,
  type ReportItemSchema,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { claim, complete, json, leaseRef, oneTask, operation, textOf } from "./support/fixtures.js";
import type { RpcClient } from "./support/rpc-client.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const server = eachTestServer();
const protocols = ["grpc", "json"] as const;

async function report(
  client: RpcClient,
  offer: Offer,
  outcome: NonNullable<MessageInitShape<typeof ReportItemSchema>["outcome"]>,
): Promise<string> {
  const reports = [{ ...leaseRef(offer), outcome }];
  const { results } = await client.unary(work.reportOutputs, { reports });
  const [result] = results;
  return result?.rejection?.reason ?? (result?.existing === true ? "existing" : "accepted");
}

/** Continues the run as new. */
function goOn(client: RpcClient, offer: Offer, input: unknown): Promise<string> {
  return report(client, offer, { case: "continueAsNew", value: { input: json(input) } });
}

describe.each(protocols)("a task that continues its run as new, over %s", (protocol) => {
  test("a task of the run's own plan continues its run as new, in any language", async () => {
    const client = server[protocol];
    await client.unary(run.startRuns, { runs: [oneTask("r", "k", { input: json(1) })] });
    const first = await claim(client, "k");
    expect(await goOn(client, first, 2)).toBe("accepted");
    expect(await goOn(client, first, 2)).toBe("existing");
    expect(await goOn(client, first, 3)).toBe("PAWL_FINGERPRINT_CONFLICT");
    const second = await claim(client, "k");
    expect([second.incarnation, textOf(second.input), second.attempt]).toEqual([2, "2", 1]);
    expect(second.leaseVersion).toBeGreaterThan(first.leaseVersion);
    expect(await goOn(client, first, 2)).toBe("existing");
    await complete(client, second, "done");
    const { result } = await client.unary(run.getResult, { runId: "r" });
    expect(result).toMatchObject({ incarnation: 2, status: RunStatus.COMPLETED });
    const { results } = await client.unary(run.startRuns, {
      runs: [oneTask("r", "k", { input: json(1) }), oneTask("r", "k", { input: json(2) })],
    });
    expect(results.map(({ existing, rejection }) => rejection?.reason ?? existing)).toEqual([
      true,
      "PAWL_FINGERPRINT_CONFLICT",
    ]);
  });

  test("content above the inline bound goes over as any input does", async () => {
    const client = server[protocol];
    await client.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const large = "x".repeat(100_000);
    expect(await goOn(client, await claim(client, "k"), large)).toBe("accepted");
    const { input } = await claim(client, "k");
    expect(input?.body.case).toBe("blob");
  });
});

describe.each(protocols)("continuing as new, over %s", (protocol) => {
  test("is refused while an operation may still take effect, and goes on after that", async () => {
    const client = server[protocol];
    await client.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const offer = await claim(client, "k");
    const holder = leaseRef(offer);
    const pay = operation("pay", SinkKind.IDEMPOTENT);
    const { intendOperation, observeOperation } = OperationService.method;
    const intended = await client.unary(intendOperation, { holder, operation: pay, intentId: "i" });
    expect(await goOn(client, offer, 2)).toBe("PAWL_OPERATIONS_UNSETTLED");
    const key = intended.answer?.answer.value?.key ?? "";
    const observation = { outcome: { case: "result" as const, value: json({ paid: true }) } };
    await client.unary(observeOperation, { holder, key, intentId: "i", observation });
    expect(await goOn(client, offer, 2)).toBe("accepted");
  });

  test("is refused once it has recorded how to undo something", async () => {
    const client = server[protocol];
    await client.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const offer = await claim(client, "k");
    const rollback = { operation: "undo", target: "bank" };
    const steps = [{ name: "u", rollback, outcome: { case: "value" as const, value: json(1) } }];
    await client.unary(work.recordSteps, { lease: leaseRef(offer), steps });
    expect(await goOn(client, offer, 2)).toBe("PAWL_ROLLBACKS_RECORDED");
  });
});

describe.each(protocols)("what is told of incarnations and deadlines, over %s", (protocol) => {
  test("history and GetRun tell of the incarnations and of the deadline", async () => {
    const client = server[protocol];
    const runTimeout = { seconds: 3600n, nanos: 0 };
    await client.unary(run.startRuns, { runs: [oneTask("r", "k", { runTimeout })] });
    const before = (await client.unary(run.getRun, { runId: "r" })).run;
    expect(await goOn(client, await claim(client, "k"), 2)).toBe("accepted");
    const { run: shown } = await client.unary(run.getRun, { runId: "r" });
    expect(shown).toMatchObject({ incarnation: 2, runTimeout: { seconds: 3600n } });
    expect(shown?.deadlineAt).toEqual(before?.deadlineAt);
    expect(shown?.why).toMatch(/ Its run timeout ends it in (59|60) min\.$/);
    const told: string[] = [];
    for await (const { events } of client.stream(run.getHistory, { runId: "r" })) {
      for (const { type, task, detail } of events) {
        if (type === "RunContinued") told.push(`${task}: ${detail}`);
      }
    }
    expect(told).toEqual([
      "only: Its function is done; the run goes on with another input, as incarnation 2.",
    ]);
  });

  test("a run timeout of no time, or of too much, is refused", async () => {
    const client = server[protocol];
    for (const seconds of [0n, -1n, 315_360_001n]) {
      const runTimeout = { seconds, nanos: 0 };
      const { results } = await client.unary(run.startRuns, {
        runs: [oneTask("r", "k", { runTimeout })],
      });
      expect(results[0]?.rejection?.reason).toBe("PAWL_INVALID_FIELD");
      expect(results[0]?.rejection?.message).toContain("run_timeout");
    }
  });
});
