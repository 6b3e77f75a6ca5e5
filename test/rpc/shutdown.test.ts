import { Health, HealthCheckResponse_ServingStatus } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { json, leasedRun, leaseRef, oneTask } from "./support/fixtures.js";
import { codeAndReason, Refusal } from "./support/refusal.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;

const server = eachTestServer();

/** How a stream of answers ends. */
async function endOf(stream: AsyncIterable<unknown>): Promise<string> {
  try {
    for await (const _ of stream) {
      // Only how it ends is looked at.
    }
    return "ended";
  } catch (error) {
    return codeAndReason(error);
  }
}

test("with a hundred watches and reports in flight it is over within 5 s, and nothing is cut", async () => {
  const offer = await leasedRun(server.grpc, "r");
  const watches = Array.from({ length: 100 }, () =>
    endOf(server.grpc.stream(run.watchRun, { runId: "r" })),
  );
  const started: string[] = [];
  for await (const { events } of server.json.stream(run.watchRun, { runId: "r" })) {
    started.push(...events.map(({ type }) => type));
    break;
  }
  expect(started).toContain("RunStarted");
  const reports = Array.from({ length: 10 }, () =>
    server.grpc.unary(WorkerService.method.reportOutputs, {
      reports: [{ ...leaseRef(offer), outcome: { case: "output", value: json(1) } }],
    }),
  );
  // Answered in part before, in part after the shutdown has begun.
  await reports[0];
  const beganMs = performance.now();
  await server.server.close();
  expect(performance.now() - beganMs).toBeLessThan(5_000);
  for (const report of reports) {
    const outcome = await report.catch((error: unknown) => error);
    if (outcome instanceof Refusal) {
      expect(codeAndReason(outcome)).toMatch(/^UNAVAILABLE /);
    } else {
      expect(outcome).toMatchObject({ results: [{ correlation: 0 }] });
    }
  }
  for (const end of await Promise.all(watches)) {
    expect(["ended", "UNAVAILABLE PAWL_UNAVAILABLE"]).toContain(end);
  }
});

describe("while it drains", () => {
  test("a worker is told, and its last report still gets in", async () => {
    await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const worker = await TestWorker.connect(server.grpc, {}, { credits: 5 });
    const { handle, leaseVersion } = await worker.offer();
    const closing = server.server.close();
    await worker.receiveWhere(({ drain }) => drain);
    worker.send({
      reports: [
        { handle, leaseVersion, correlation: 1, outcome: { case: "output", value: json(1) } },
      ],
    });
    expect(await worker.answer(1)).toBe("accepted");
    worker.stream.end();
    expect(await worker.stream.ended()).toBe("ended");
    await closing;
  });

  test("a submit stream is answered what was handed over, then ends as unavailable", async () => {
    const submit = server.grpc.duplex(run.submit);
    submit.send({ starts: [{ ...oneTask("r", "k"), correlation: 1, wait: true }] });
    expect((await submit.next()).accepted).toEqual([1]);
    const closing = server.server.close();
    expect(codeAndReason(await submit.ended())).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
    await closing;
  });

  test("a waiting call is refused with a delay, not held to its end", async () => {
    await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const waiting = server.grpc.unary(run.getResult, { runId: "r", wait: { seconds: 50n } });
    const outcome = waiting.catch((error: unknown) => error);
    // The wait must have begun.
    await server.grpc.unary(run.getRun, { runId: "r" });
    const beganMs = performance.now();
    await server.server.close();
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    const refusal = await outcome;
    expect(codeAndReason(refusal)).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
    expect(refusal instanceof Refusal ? refusal.retryAfterMs : undefined).toBe(1_000);
  });

  test("health says so before the last call has ended", async () => {
    const stream = server.grpc.stream(Health.method.watch, {});
    const statuses: number[] = [];
    let closing: Promise<void> | undefined;
    const end = await (async () => {
      try {
        for await (const { status } of stream) {
          statuses.push(status);
          closing ??= server.server.close();
        }
        return "ended";
      } catch (error) {
        return codeAndReason(error);
      }
    })();
    expect(statuses).toEqual([
      HealthCheckResponse_ServingStatus.SERVING,
      HealthCheckResponse_ServingStatus.NOT_SERVING,
    ]);
    expect(end).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
    await closing;
  });

  test("a worker that never goes away does not hold it up for ever", async () => {
    const worker = await TestWorker.connect(server.grpc, {});
    const beganMs = performance.now();
    await server.server.close({ drainMs: 200 });
    expect(performance.now() - beganMs).toBeLessThan(2_000);
    expect(codeAndReason(await worker.stream.ended())).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
  });
});

test("closing twice is the same as once", async () => {
  const first = server.server.close();
  expect(server.server.close({ drainMs: 0 })).toBe(first);
  await first;
});
