import { json, operation, type TaskContext, task } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { jsonPayload, textOf } from "./support/payloads.js";
import { answerIntent, gate, offer, WorkerBench } from "./support/worker-bench.js";

let bench: WorkerBench;

beforeEach(async () => {
  bench = await WorkerBench.open();
});

afterEach(() => bench.close());

const calls: unknown[] = [];
const charge = operation("charge", {
  payload: json<{ cents: number }>(),
  result: json<{ id: string }>(),
  callTimeout: "5s",
  sink: { kind: "reconcilable", settle: "1s" },
  call: async (op) => {
    calls.push(op);
    return { id: `r-${op.payload.cents}` };
  },
  lookup: async (op) => (op.key === "known" ? { found: { id: "found" } } : "absent"),
});
const paying = task("paying").run(async (ctx: TaskContext) =>
  ctx.perform(charge, { cents: 5 }, { target: "acct", key: "k1" }),
);

beforeEach(() => {
  calls.length = 0;
});

test("intend, call with the recorded payload, observe before the report", async () => {
  const { work } = await bench.start([paying]);
  work.send({ offers: [offer({ kind: "paying" })] });
  const intent = await work.until((request) => request.intents[0]);
  expect(intent.operation).toMatchObject({
    name: "charge",
    key: "k1",
    target: "acct",
    callTimeoutMs: 5_000,
  });
  expect(calls).toEqual([]);
  const proceed = {
    key: "op-key",
    uuid: "u",
    payload: jsonPayload('{"cents":500}'),
    callMs: 5_000,
  };
  answerIntent(work, intent.correlation, { case: "proceed", value: proceed });
  const message = await work.until((request) =>
    request.observations.length > 0 ? request : undefined,
  );
  // The recorded payload is what is sent, not the code's own.
  expect(calls).toMatchObject([
    { key: "op-key", uuid: "u", target: "acct", payload: { cents: 500 } },
  ]);
  expect(message.observations).toMatchObject([
    { key: "op-key", intentId: intent.intentId, handle: 1, leaseVersion: 7 },
  ]);
  const report = message.reports[0] ?? (await work.until((request) => request.reports[0]));
  expect(report.outcome.case === "output" ? textOf(report.outcome.value) : undefined).toBe(
    '{"id":"r-500"}',
  );
});

test("reuse gives the recorded result without a call", async () => {
  const { work } = await bench.start([paying]);
  work.send({ offers: [offer({ kind: "paying" })] });
  const intent = await work.until((request) => request.intents[0]);
  const reuse = {
    outcome: { case: "result" as const, value: jsonPayload('{"id":"old"}') },
    key: "op-key",
  };
  answerIntent(work, intent.correlation, { case: "reuse", value: reuse });
  const report = await work.until((request) => request.reports[0]);
  expect(report.outcome.case === "output" ? textOf(report.outcome.value) : undefined).toBe(
    '{"id":"old"}',
  );
  expect(calls).toEqual([]);
});

test("look up, tell what was found, and follow the answer", async () => {
  const { work } = await bench.start([paying]);
  work.send({ offers: [offer({ kind: "paying" })] });
  const intent = await work.until((request) => request.intents[0]);
  const lookUp = { key: "known", uuid: "u", notBeforeMs: 1, payload: jsonPayload('{"cents":5}') };
  answerIntent(work, intent.correlation, { case: "lookUp", value: lookUp });
  const found = await work.until((request) => request.reconciliations[0]);
  expect(found.key).toBe("known");
  expect(found.intentId).not.toBe(intent.intentId);
  const { finding } = found.reconciliation ?? {};
  expect(finding?.case === "found" ? textOf(finding.value) : undefined).toBe('{"id":"found"}');
  const reuse = {
    outcome: { case: "result" as const, value: jsonPayload('{"id":"found"}') },
    key: "known",
    reconciled: true,
  };
  answerIntent(work, found.correlation, { case: "reuse", value: reuse });
  const report = await work.until((request) => request.reports[0]);
  expect(report.outcome.case === "output" ? textOf(report.outcome.value) : undefined).toBe(
    '{"id":"found"}',
  );
});

test("a call whose time is over before it begins is not made, and recorded as not sent", async () => {
  const { work } = await bench.start([paying]);
  work.send({ offers: [offer({ kind: "paying" })] });
  const intent = await work.until((request) => request.intents[0]);
  const late = { key: "op-key", uuid: "u", payload: jsonPayload('{"cents":5}'), callMs: 0 };
  answerIntent(work, intent.correlation, { case: "proceed", value: late });
  const message = await work.until((request) =>
    request.observations.length > 0 ? request : undefined,
  );
  expect(message.observations[0]?.observation?.outcome.case).toBe("notSent");
  const again = message.intents[0] ?? (await work.until((request) => request.intents[0]));
  expect(again.intentId).not.toBe(intent.intentId);
  expect(calls).toEqual([]);
});

test("a review ends the attempt, whatever its code makes of it", async () => {
  const outcomes: unknown[] = [];
  const stubborn = task("stubborn").run(async (ctx) => {
    await ctx
      .perform(charge, { cents: 5 }, { target: "acct" })
      .catch((error: unknown) => outcomes.push(error));
    await ctx.step("after", () => 1).catch((error: unknown) => outcomes.push(error));
    return { completed: true };
  });
  const { work, worker } = await bench.start([stubborn]);
  work.send({ offers: [offer({ kind: "stubborn" })] });
  const intent = await work.until((request) => request.intents[0]);
  const review = { reviewId: "12-0", key: "op-key" };
  work.send({
    results: [
      { correlation: intent.correlation, intent: { answer: { case: "review", value: review } } },
    ],
    lostLeases: [{ handle: 1, cause: "review" }],
  });
  const message = await work.until((request) => (request.credits > 0 ? request : undefined));
  expect(message.reports).toEqual([]);
  expect(message.steps).toEqual([]);
  expect(outcomes).toMatchObject([{ code: "PAWL_NEEDS_REVIEW" }, { code: "PAWL_NEEDS_REVIEW" }]);
  expect(worker.running).toBe(0);
});

test("a refused intent of another content fails the attempt for good", async () => {
  const { work } = await bench.start([paying]);
  work.send({ offers: [offer({ kind: "paying" })] });
  const intent = await work.until((request) => request.intents[0]);
  work.send({
    results: [
      {
        correlation: intent.correlation,
        rejection: { reason: "PAWL_FINGERPRINT_CONFLICT", message: "differs" },
      },
    ],
  });
  const report = await work.until((request) => request.reports[0]);
  const failure = report.outcome.case === "failure" ? report.outcome.value : undefined;
  expect(failure?.code).toBe("PAWL_FINGERPRINT_CONFLICT");
  expect(failure?.retryable).toBe(false);
});

test("an outcome that comes after a lost lease is told with the run's id", async () => {
  const { promise: bank, open } = gate();
  const slowCharge = operation("slow-charge", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    call: async () => {
      await bank;
      return { id: "late" };
    },
  });
  const slowPaying = task("slow-paying").run(async (ctx) =>
    ctx.perform(slowCharge, { cents: 1 }, { target: "t" }),
  );
  const { work } = await bench.start([slowPaying]);
  work.send({ offers: [offer({ kind: "slow-paying" })] });
  const intent = await work.until((request) => request.intents[0]);
  const proceed = {
    key: "op-key",
    uuid: "u",
    payload: jsonPayload('{"cents":1}'),
    callMs: 5_000,
  };
  answerIntent(work, intent.correlation, { case: "proceed", value: proceed });
  work.send({ lostLeases: [{ handle: 1, cause: "expired" }] });
  // Everything the worker has sent until then is read, so the loss was too.
  work.send({ ping: 1 });
  await work.until((request) => request.pong || undefined);
  open();
  const message = await work.until((request) =>
    request.observations.length > 0 ? request : undefined,
  );
  expect(message.observations).toMatchObject([
    { handle: 0, runId: "run-1", intentId: intent.intentId, leaseVersion: 7 },
  ]);
  expect(message.reports).toEqual([]);
});

test("a handler that throws what cannot be looked at is reported like any other", async () => {
  const hostile = task("hostile").run(() => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    throw proxy;
  });
  const { work } = await bench.start([hostile]);
  work.send({ offers: [offer({ kind: "hostile" })] });
  const report = await work.until((request) => request.reports[0]);
  expect(report.outcome.value).toMatchObject({
    message: "Something was thrown that cannot be looked at.",
  });
});

test("a performance without options is refused by name, and for good", async () => {
  const careless = task("careless").run((ctx: TaskContext) =>
    Reflect.apply(ctx.perform, ctx, [charge, { cents: 5 }]),
  );
  const { work } = await bench.start([careless]);
  work.send({ offers: [offer({ kind: "careless" })] });
  const report = await work.until((request) => request.reports[0]);
  expect(report.outcome.value).toMatchObject({
    kind: "DefinitionInvalid",
    message: expect.stringContaining('Expected options for operation "charge"'),
    retryable: false,
  });
});
