import { Health, HealthCheckResponse_ServingStatus } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { Rejection } from "@pawl/server/core/rejection.js";
import { afterEach, describe, expect, test } from "vitest";
import { json, oneTask } from "./support/fixtures.js";
import { codeAndReason, Refusal } from "./support/refusal.js";
import { override, refusingKernel } from "./support/refusing-kernel.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

const { method: run } = RunService;

let server: TestServer;

afterEach(async () => {
  await server.close();
});

const refusals: readonly (readonly [Rejection, string])[] = [
  [
    {
      reason: "PAWL_OVERLOADED",
      message: "Expected room, but there is none. Next: ….",
      detail: { case: "overloaded", value: { resource: "inbox", bound: "8 MiB" } },
      retryAfterMs: 500,
    },
    "RESOURCE_EXHAUSTED PAWL_OVERLOADED",
  ],
  [
    {
      reason: "PAWL_DISK_LOW",
      message: "Expected room on the disk, but there is little. Next: ….",
      retryAfterMs: 10_000,
    },
    "RESOURCE_EXHAUSTED PAWL_DISK_LOW",
  ],
  [
    {
      reason: "PAWL_STORE_DAMAGED",
      message: "Expected a whole history, but it is damaged. Next: ….",
    },
    "DATA_LOSS PAWL_STORE_DAMAGED",
  ],
  [
    { reason: "PAWL_UNAVAILABLE", message: "Expected …, but …. Next: ….", retryAfterMs: 1_000 },
    "UNAVAILABLE PAWL_UNAVAILABLE",
  ],
  [{ reason: "PAWL_INTERNAL", message: "Expected …, but …. Next: …." }, "INTERNAL PAWL_INTERNAL"],
];

describe.each(["grpc", "json"] as const)("over %s", (protocol) => {
  test.each(refusals)(
    "what the kernel refuses is told as it is: %o",
    async (rejection, expected) => {
      server = await openTestServer({ before: (kernel) => refusingKernel(kernel, rejection) });
      const start = { runs: [oneTask("r", "k")] };
      const { results } = await server[protocol].unary(run.startRuns, start);
      expect(results[0]?.rejection?.reason).toBe(rejection.reason);
      const error = await server[protocol]
        .unary(run.cancelRun, { runId: "r" })
        .catch((thrown: unknown) => thrown);
      expect(codeAndReason(error)).toBe(expected);
      expect(error instanceof Refusal ? error.retryAfterMs : 0).toBe(rejection.retryAfterMs);
    },
  );

  test("a fault of the kernel's own code is reported to it, and not to the caller", async () => {
    server = await openTestServer({
      before: (kernel) =>
        override(kernel, {
          view: () => Promise.reject(new TypeError("secret: x is not a function")),
        }),
    });
    const error = await server[protocol]
      .unary(run.getRun, { runId: "r" })
      .catch((thrown: unknown) => thrown);
    expect(codeAndReason(error)).toBe("INTERNAL PAWL_INTERNAL");
    expect(String(error)).not.toContain("secret");
    expect(server.faults).toMatchObject([{ where: "GetRun", error: { name: "TypeError" } }]);
    // The next call is served.
    await server[protocol].unary(run.listRuns, {});
  });
});

describe("when the store fails", () => {
  /** A server whose kernel never answers a command, and can be made to fail. */
  async function openFailing(): Promise<() => void> {
    let fail: (error: Error) => void = () => undefined;
    server = await openTestServer({
      before: (kernel) =>
        override(kernel, {
          execute: () => undefined,
          onFailed: (callback) => {
            fail = callback;
          },
        }),
    });
    return () => fail(new Error("EIO"));
  }

  test("everything that was not answered ends as unavailable, at once", async () => {
    const fail = await openFailing();
    const unary = server.grpc.unary(run.cancelRun, { runId: "r" }).catch((thrown) => thrown);
    const overJson = server.json.unary(run.cancelRun, { runId: "r" }).catch((thrown) => thrown);
    const submit = server.grpc.duplex(run.submit);
    submit.send({ starts: [{ ...oneTask("r", "k"), correlation: 1 }] });
    const work = server.grpc.duplex(WorkerService.method.work);
    work.send({ hello: { protocolVersion: 1, sessionId: "s", serves: [{ kind: "k" }] } });
    await work.next();
    const watch = server.grpc.stream(run.watchRuns, {});
    const watching = watch[Symbol.asyncIterator]();
    await watching.next();
    // All of them have reached the kernel once something that came after them was answered.
    await server.json.unary(run.listRuns, {});
    fail();
    const expected = "UNAVAILABLE PAWL_UNAVAILABLE";
    expect(codeAndReason(await unary)).toBe(expected);
    expect(codeAndReason(await overJson)).toBe(expected);
    expect(codeAndReason(await submit.ended())).toBe(expected);
    expect(codeAndReason(await work.ended())).toBe(expected);
    expect(codeAndReason(await watching.next().catch((thrown: unknown) => thrown))).toBe(expected);
    const { status } = await server.grpc
      .unary(Health.method.check, {})
      .catch(() => ({ status: HealthCheckResponse_ServingStatus.NOT_SERVING }));
    expect(status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
  });

  test("whoever watches the health is told before the watch ends", async () => {
    const fail = await openFailing();
    const statuses: number[] = [];
    const ended = (async () => {
      for await (const { status } of server.grpc.stream(Health.method.watch, {})) {
        statuses.push(status);
        fail();
      }
    })();
    const error = await ended.catch((thrown: unknown) => thrown);
    expect(codeAndReason(error)).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
    expect(statuses).toEqual([
      HealthCheckResponse_ServingStatus.SERVING,
      HealthCheckResponse_ServingStatus.NOT_SERVING,
    ]);
  });

  test("nothing new is taken", async () => {
    const fail = await openFailing();
    fail();
    const error = await server.grpc
      .unary(run.startRuns, { runs: [oneTask("r", "k", { input: json(1) })] })
      .catch((thrown: unknown) => thrown);
    expect(codeAndReason(error)).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
    expect(codeAndReason(await server.grpc.duplex(run.submit).ended())).toBe(
      "UNAVAILABLE PAWL_UNAVAILABLE",
    );
  });
});
