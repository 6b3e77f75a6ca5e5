import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { createLog, describeError } from "@pawl/server/observe/log.js";
import { faultReporter } from "@pawl/server/rpc/observed.js";
import { describe, expect, test } from "vitest";
import { claim, json, leaseRef, oneTask, operation } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import { newDisk, type ObservedKernel, openObserved } from "./support/observed-kernel.js";

const { startRuns, terminateRun } = RunService.method;
const { intendOperation, observeOperation } = OperationService.method;

/** Stands in everything that a caller may call secret. */
const marker = "MARKER-4711";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const secret = json({ card: marker });
const failure = { kind: "BankError", message: marker, data: secret, stack: marker };

/** A run that goes through everything that is logged: a lost offer, an unknown call, a review, an end by hand. */
async function trouble(observed: ObservedKernel): Promise<void> {
  const { grpc } = observed;
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const labels = [{ key: "team", value: marker }];
  const run = oneTask("order-7", "pay", { input: secret, labels, traceparent });
  await grpc.unary(startRuns, { runs: [run] });
  const first = await TestWorker.connect(
    grpc,
    { sessionId: "s1", worker: "w1", serves: [{ kind: "pay" }] },
    { credits: 1 },
  );
  await first.offer();
  first.stream.cancel();
  // It comes back and holds nothing: the lease is taken from it.
  const again = await TestWorker.connect(grpc, {
    sessionId: "s1",
    worker: "w1",
    serves: [{ kind: "other" }],
  });
  again.stream.cancel();
  const holder = leaseRef(await claim(grpc, "pay"));
  const steps = [{ name: "plan", outcome: { case: "value" as const, value: secret } }];
  await grpc.unary(WorkerService.method.recordSteps, { lease: holder, steps });
  const wire = operation("wire", SinkKind.OPAQUE, { callTimeoutMs: 1, payload: secret });
  const intended = await grpc.unary(intendOperation, { holder, operation: wire, intentId: "i1" });
  const key = intended.answer?.answer.value?.key ?? "";
  const observation = { outcome: { case: "unknown" as const, value: failure } };
  await grpc.unary(observeOperation, { holder, key, intentId: "i1", observation });
  let reviewId = "";
  while (reviewId === "") {
    const { answer } = await grpc.unary(intendOperation, {
      holder,
      operation: wire,
      intentId: "i2",
    });
    reviewId = answer?.answer.case === "review" ? answer.answer.value.reviewId : "";
  }
  const resolution = { choice: ReviewChoice.DONE, result: secret, reason: marker };
  await grpc.unary(ReviewService.method.resolveReview, {
    reviewId,
    expectedVersion: 1,
    ...resolution,
  });
  await grpc.unary(terminateRun, { runId: "order-7", reason: marker });
}

interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

const parse = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line));

describe("the log", () => {
  test("names run, task, attempt, operation key, review and trace of what somebody should read", async () => {
    const observed = await openObserved(await newDisk());
    await trouble(observed);
    await observed.close();
    const ofRun = {
      namespace: "default",
      run: "order-7",
      incarnation: 1,
      workflow: "test",
      traceId,
    };
    const told = parse(observed.lines).filter(({ run }) => run !== undefined);
    expect(told).toMatchObject([
      { level: "warn", ...ofRun, task: "only", attempt: 1, leaseVersion: 1, worker: "w1" },
      { level: "warn", ...ofRun, operationKey: "task/default/order-7/1/only/wire/1" },
      { level: "info", ...ofRun, reviewId: expect.stringMatching(/^\d+-0$/) },
      { level: "info", ...ofRun, message: "A run was terminated" },
    ]);
    expect(told[0]?.message).toBe("A worker came back without a task that it held");
    expect(told.every((line) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(String(line["time"])))).toBe(
      true,
    );
  });

  test("holds nothing of payloads, failures, reasons, labels or headers, and metrics hold nothing either", async () => {
    const observed = await openObserved(await newDisk());
    await trouble(observed);
    const headers = { authorization: `Bearer ${marker}`, "x-secret": marker };
    await observed.json.post(
      RunService.method.getRun,
      JSON.stringify({ runId: "order-7" }),
      headers,
    );
    await observed.json
      .post(RunService.method.startRuns, `{"runs": [${marker}`, headers)
      .catch(() => {});
    const metrics = await (await observed.json.fetch("/metrics", { headers })).text();
    await observed.close();
    expect(observed.lines.length).toBeGreaterThan(5);
    expect(observed.lines.join("")).not.toContain(marker);
    expect(metrics).toContain("pawl_rejections_total");
    expect(metrics).not.toContain(marker);
  });

  test("tells nothing per command: a thousand runs leave no line more", async () => {
    const observed = await openObserved(await newDisk());
    await observed.kernel.openWorkKnown;
    const before = observed.lines.length;
    const runs = Array.from({ length: 1000 }, (_, index) => oneTask(`r${index}`, "k"));
    await observed.grpc.unary(startRuns, { runs });
    for (let index = 0; index < 20; index++) {
      const lease = leaseRef(await claim(observed.grpc, "k"));
      const report = { ...lease, outcome: { case: "output" as const, value: secret } };
      await observed.grpc.unary(WorkerService.method.reportOutputs, { reports: [report] });
    }
    expect(observed.lines.length).toBe(before);
    await observed.close();
  });

  test("leaves out what is below its level", async () => {
    const observed = await openObserved(await newDisk(), { level: "warn" });
    await trouble(observed);
    await observed.close();
    expect(new Set(parse(observed.lines).map(({ level }) => level))).toEqual(new Set(["warn"]));
  });
});

describe("a line of the log", () => {
  test("is written for people where a person reads", () => {
    const lines: string[] = [];
    const log = createLog({ isPretty: true, write: (line) => lines.push(line) });
    log.warn({ run: "order-7", task: "a b", attempt: 2 }, "A worker did not renew its lease");
    expect(lines[0]).toMatch(
      /^\S+Z WARN A worker did not renew its lease run=order-7 task="a b" attempt=2\n$/,
    );
  });

  test("shows of a fault where it happened, and not what a parser had read", () => {
    const lines: string[] = [];
    const report = faultReporter(createLog({ write: (line) => lines.push(line) }));
    try {
      JSON.parse(`{"card": ${marker}`);
    } catch (error) {
      report(error, "StartRuns");
    }
    const [told] = parse(lines);
    expect(told).toMatchObject({
      level: "error",
      where: "StartRuns",
      error: { type: "SyntaxError" },
    });
    expect(lines[0]).toContain("log.test.ts");
    expect(lines[0]).not.toContain(marker);
    expect(describeError(marker)).toEqual({ type: "string", message: "thrown without an Error" });
  });
});
