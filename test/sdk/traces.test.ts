import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { type Client, connect, json, operation, task } from "@pawl/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";

const exporter = new InMemorySpanExporter();
/** Stands in everything that must not be in a span. */
const marker = "MARKER-4711";

let server: TestServer;
let client: Client;

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
});
afterAll(() => {
  trace.disable();
  propagation.disable();
  context.disable();
});
beforeEach(async () => {
  exporter.reset();
  server = await openTestServer();
  client = connect({ url: `http://127.0.0.1:${server.server.port}` });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const sent: { traceparent: string; headers: Readonly<Record<string, string>> }[] = [];
let isDown = false;
const pay = operation("payments.pay", {
  payload: json<{ card: string }>(),
  result: json<{ id: string }>(),
  sink: { kind: "idempotent", keyWindow: "1h" },
  call: (op) => {
    sent.push({ traceparent: op.traceparent, headers: op.headers });
    if (isDown) throw new Error(`the bank is down for ${marker}`);
    return { id: marker };
  },
});
const paying = task("paying", {
  input: json<{ card: string }>(),
  output: json<{ id: string }>(),
}).run(async (ctx, input) => {
  const card = await ctx.step("card", () => input.card);
  const paid = await ctx.perform(pay, { card }, { target: "bank" });
  if (ctx.attempt === 1) throw new Error(`again, ${marker}`);
  return paid;
});

beforeEach(() => {
  sent.length = 0;
  isDown = false;
});

function spans(name: string): ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

async function untilFinished(name: string, count: number): Promise<ReadableSpan[]> {
  while (spans(name).length < count) await new Promise((resolve) => setImmediate(resolve));
  return spans(name);
}

test("one trace leads from whoever starts a run over its attempts to the calls of its sinks", async () => {
  await using worker = await client.worker({ serve: [paying], slots: 1 });
  const tracer = trace.getTracer("test");
  await tracer.startActiveSpan("request", async (span) => {
    await client.execute(paying, { card: marker }, { runId: "order-7" });
    span.end();
  });
  const [request] = spans("request");
  const [start] = spans("pawl.start");
  const [first, second] = await untilFinished("pawl.attempt", 2);
  const [step] = spans("pawl.step");
  const [call] = spans("pawl.call");
  const traceId = request?.spanContext().traceId;
  for (const span of [start, first, second, step, call]) {
    expect(span?.spanContext().traceId).toBe(traceId);
  }
  const parentOf = (span: ReadableSpan | undefined): string | undefined =>
    span?.parentSpanContext?.spanId;
  expect(parentOf(start)).toBe(request?.spanContext().spanId);
  expect(parentOf(first)).toBe(start?.spanContext().spanId);
  expect(parentOf(second)).toBe(start?.spanContext().spanId);
  expect(parentOf(step)).toBe(first?.spanContext().spanId);
  expect(parentOf(call)).toBe(first?.spanContext().spanId);
  expect(call?.links.map((link) => link.context.spanId)).toEqual([start?.spanContext().spanId]);
  expect(spans("pawl.step")).toHaveLength(1);
  expect(spans("pawl.call")).toHaveLength(1);
  await worker.close();
});

test("each span names its run, task and attempt, or the operation by its key, and what was used again", async () => {
  await using worker = await client.worker({ serve: [paying], slots: 1 });
  await client.execute(paying, { card: marker }, { runId: "order-8" });
  const [first, second] = await untilFinished("pawl.attempt", 2);
  expect(spans("pawl.start")[0]?.attributes).toEqual({
    "pawl.workflow": "paying",
    "pawl.run.id": "order-8",
  });
  const attempt = {
    "pawl.run.id": "order-8",
    "pawl.run.incarnation": 1,
    "pawl.workflow": "paying",
    "pawl.task.name": "main",
  };
  expect(first?.attributes).toMatchObject({ ...attempt, "pawl.task.attempt": 1 });
  expect(second?.attributes).toMatchObject({ ...attempt, "pawl.task.attempt": 2 });
  expect(first?.attributes["error.type"]).toBe("Error");
  expect(spans("pawl.call")[0]?.attributes).toMatchObject({
    ...attempt,
    "pawl.operation.name": "payments.pay",
    "pawl.operation.key": "task/default/order-8/1/main/payments.pay/1",
    "pawl.operation.outcome": "result",
  });
  expect(second?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
    ["pawl.step.reused", { "pawl.step.name": "card" }],
    [
      "pawl.operation.reused",
      { "pawl.operation.key": "task/default/order-8/1/main/payments.pay/1" },
    ],
  ]);
  await worker.close();
});

test("the sink is given the trace of its call, and of each call again its own", async () => {
  isDown = true;
  const performed = client.perform(
    pay,
    { card: marker },
    { scope: "namespace", key: "i-1", target: "bank" },
  );
  await expect(performed).rejects.toThrow();
  const calls = spans("pawl.call");
  expect(calls.length).toBeGreaterThan(1);
  const expected = calls.map((span) => {
    const { traceId, spanId } = span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  });
  expect(sent.map(({ traceparent }) => traceparent)).toEqual(expected);
  expect(sent.map(({ headers }) => headers["traceparent"])).toEqual(expected);
  expect(calls[0]?.attributes["pawl.operation.outcome"]).toBe("unknown");
});

test("no span holds anything of a payload or of an error's message", async () => {
  await using worker = await client.worker({ serve: [paying], slots: 1 });
  await client.execute(paying, { card: marker }, { runId: "order-9" });
  await untilFinished("pawl.attempt", 2);
  const told = exporter
    .getFinishedSpans()
    .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
  expect(told.length).toBeGreaterThanOrEqual(5);
  expect(JSON.stringify(told)).not.toContain(marker);
  await worker.close();
});

test("the call of an approved action names the proposal that it rests on", async () => {
  const asking = task("asking", { input: json<{ card: string }>() }).run(async (ctx, { card }) => {
    const said = await ctx.approve(pay, { card }, { target: "bank", requesterMayDecide: true });
    return said.status === "approved" ? (await said.perform()).id : said.status;
  });
  await using worker = await client.worker({ serve: [asking], slots: 1 });
  const run = await client.start(asking, { card: marker }, { runId: "order-9" });
  let proposalId = "";
  while (proposalId === "") {
    for await (const listed of client.approvals.list()) {
      proposalId = listed.proposalId;
      await client.approvals.approve(await client.approvals.get(proposalId));
    }
  }
  await run.result();
  const [call] = await untilFinished("pawl.call", 1);
  expect(call?.attributes).toMatchObject({
    "pawl.proposal.id": proposalId,
    "pawl.operation.key": "task/default/order-9/1/main/payments.pay/1",
  });
  await worker.close();
});
