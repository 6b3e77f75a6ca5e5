import { json, LeaseLost, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { textOf } from "./support/payloads.js";
import { gate, offer, WorkerBench } from "./support/worker-bench.js";

let bench: WorkerBench;

beforeEach(async () => {
  bench = await WorkerBench.open();
});

afterEach(() => bench.close());

const double = task("double", { input: json<{ n: number }>() }).run(async (_ctx, { n }) => ({
  twice: n * 2,
}));

describe("a worker on its stream", () => {
  test("says hello with what it serves and its free slots", async () => {
    const starting = bench.client.worker({ serve: [double], slots: 3, name: "w-1" });
    const { first } = await bench.kernel.welcome();
    await starting;
    expect(first.hello?.worker).toBe("w-1");
    expect(first.hello?.protocolVersion).toBe(1);
    expect(first.hello?.serves.map((served) => served.kind)).toEqual(["double"]);
    expect(first.credits).toBe(3);
  });

  test("acknowledges, reports and gives its credit back in one message", async () => {
    const { work } = await bench.start([double]);
    work.send({ offers: [{ ...offer({ kind: "double", input: '{"n":21}' }), leaseVersion: 1 }] });
    const message = await work.until((request) => (request.acks.length > 0 ? request : undefined));
    expect(message.acks).toEqual([1]);
    expect(message.credits).toBe(1);
    const report = message.reports[0];
    expect(report?.handle).toBe(1);
    expect(report?.leaseVersion).toBe(1);
    expect(report?.outcome.case === "output" ? textOf(report.outcome.value) : undefined).toBe(
      '{"twice":42}',
    );
  });

  test("runs a task that was held before only when the kernel has read its acknowledgement", async () => {
    const { work } = await bench.start([double]);
    work.send({ offers: [offer({ kind: "double", input: '{"n":21}' })] });
    const message = await work.until((request) => (request.acks.length > 0 ? request : undefined));
    expect(message).toMatchObject({ acks: [1], reports: [], ping: 1 });
    expect(await work.until((request) => request.reports[0])).toMatchObject({ leaseVersion: 7 });
  });

  test("sends a failure with its chain, and a final one as final", async () => {
    const failing = task("failing").run(async () => {
      throw new TypeError("outer", { cause: new Error("inner") });
    });
    const { work } = await bench.start([failing]);
    work.send({ offers: [offer({ kind: "failing" })] });
    const report = await work.until((request) => request.reports[0]);
    const failure = report.outcome.case === "failure" ? report.outcome.value : undefined;
    expect(failure?.kind).toBe("TypeError");
    expect(failure?.message).toBe("outer");
    expect(failure?.cause?.message).toBe("inner");
    expect(failure?.retryable).toBe(true);
  });

  test("runs no handler for an input that its schema refuses, and says it is final", async () => {
    let ran = 0;
    const strict = task("strict", {
      input: {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: () => ({ issues: [{ message: "no", path: ["n"] }] }),
        },
      },
    }).run(async () => {
      ran++;
      return 1;
    });
    const { work } = await bench.start([strict]);
    work.send({ offers: [offer({ kind: "strict", input: "{}" })] });
    const report = await work.until((request) => request.reports[0]);
    const failure = report.outcome.case === "failure" ? report.outcome.value : undefined;
    expect(failure?.code).toBe("PAWL_SCHEMA_REFUSED");
    expect(failure?.retryable).toBe(false);
    expect(ran).toBe(0);
  });
});

describe("a lost stream", () => {
  test("does not end an attempt: the new stream names the lease that is held, and the report follows", async () => {
    const { promise: finish, open } = gate();
    const slow = task("slow").run(async (ctx) => {
      await finish;
      return ctx.signal.aborted;
    });
    const starting = bench.client.worker({ serve: [slow], slots: 2 });
    const { work, first } = await bench.kernel.welcome();
    await starting;
    work.send({ offers: [offer({ kind: "slow" })] });
    await work.until((request) => request.acks[0]);
    bench.kernel.kill();
    await bench.kernel.listen();
    const again = await bench.kernel.welcome();
    expect(again.first.hello?.sessionId).toBe(first.hello?.sessionId);
    expect(again.first.hello?.holds).toMatchObject([
      { handle: 1, runId: "run-1", task: "slow", leaseVersion: 7 },
    ]);
    expect(again.first.credits).toBe(1);
    open();
    const report = await again.work.until((request) => request.reports[0]);
    expect(report.outcome.case === "output" ? textOf(report.outcome.value) : undefined).toBe(
      "false",
    );
  });

  test("an unanswered report is sent again with the same correlation number", async () => {
    const { work } = await bench.start([double]);
    work.send({ offers: [offer({ kind: "double", input: '{"n":1}' })] });
    const first = await work.until((request) => request.reports[0]);
    work.fail();
    const { work: next, first: hello } = await bench.kernel.welcome();
    expect(hello.hello?.holds).toHaveLength(1);
    const again = await next.until((request) => request.reports[0]);
    expect(again.correlation).toBe(first.correlation);
    next.send({ accepted: [again.correlation] });
  });

  test("a lease that is not held any more aborts its attempt with a typed reason, and nothing is reported", async () => {
    const seen = gate<unknown>();
    const waiting = task("waiting").run(async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      seen.open(ctx.signal.reason);
    });
    const { work, worker } = await bench.start([waiting, double]);
    work.send({ offers: [offer({ kind: "waiting" })] });
    await work.until((request) => request.acks[0]);
    work.fail();
    const { work: next } = await bench.kernel.welcome({ lostHandles: [1] });
    expect(await seen.promise).toBeInstanceOf(LeaseLost);
    next.send({ offers: [offer({ kind: "double", handle: 2, input: '{"n":2}' })] });
    const report = await next.until((request) => request.reports[0]);
    expect(report.handle).toBe(2);
    next.send({ accepted: [report.correlation] });
    await expect.poll(() => worker.running).toBe(0);
  });

  test("a silent kernel is noticed and the stream opened again", async () => {
    const starting = bench.client.worker({ serve: [double] });
    await bench.kernel.welcome({ pingIntervalMs: 50 });
    await starting;
    const { first } = await bench.kernel.welcome();
    expect(first.hello?.sessionId).not.toBe("");
  });

  test("pings are answered", async () => {
    const { work } = await bench.start([double]);
    work.send({ ping: 77 });
    expect(await work.until((request) => request.pong || undefined)).toBe(77);
  });
});

describe("leases", () => {
  test("are renewed at a third of their length", async () => {
    const { promise: finish, open } = gate();
    const slow = task("slow").run(async () => {
      await finish;
    });
    const { work } = await bench.start([slow]);
    work.send({ offers: [offer({ kind: "slow", leaseMs: 150 })] });
    const renewed = await work.until((request) => request.renewals[0]);
    expect(renewed).toBe(1);
    open();
  });

  test("are renewed by a unary call while the stream is away", async () => {
    const { promise: finish, open } = gate();
    const renewal = gate<unknown>();
    bench.kernel.onUnary("RenewLeases", (request) => {
      renewal.open(request);
      return { results: [{ leaseMs: 600 }] };
    });
    const slow = task("slow").run(async () => {
      await finish;
    });
    const { work } = await bench.start([slow]);
    work.send({ offers: [offer({ kind: "slow", leaseMs: 600 })] });
    await work.until((request) => request.acks[0]);
    work.fail();
    await bench.kernel.nextWork(); // never welcomed: the worker has no stream that is up
    expect(await renewal.promise).toMatchObject({
      leases: [{ runId: "run-1", task: "slow", leaseVersion: 7 }],
    });
    open();
  });
});

test("an idle worker lets a kernel go that drains, and finds the next one", async () => {
  const { work } = await bench.start([double]);
  work.send({ drain: true });
  await work.closed;
  const { first } = await bench.kernel.welcome();
  expect(first.hello?.serves).toHaveLength(1);
});

test("a step that was refused fails the attempt, although its code went on", async () => {
  const { promise: refused, open } = gate();
  const stepping = task("stepping").run(async (ctx) => {
    await ctx.step("first", () => 1);
    await refused;
    await ctx.step("second", () => 2);
  });
  const { work } = await bench.start([stepping]);
  work.send({ offers: [offer({ kind: "stepping" })] });
  const step = await work.until((request) => request.steps[0]);
  work.send({
    results: [
      {
        correlation: step.correlation,
        rejection: { reason: "PAWL_FINGERPRINT_CONFLICT", message: "differs" },
      },
    ],
    ping: 9,
  });
  await work.until((request) => request.pong || undefined);
  open();
  const report = await work.until((request) => request.reports[0]);
  const failure = report.outcome.case === "failure" ? report.outcome.value : undefined;
  expect(failure?.code).toBe("PAWL_FINGERPRINT_CONFLICT");
});
