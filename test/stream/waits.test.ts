import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { type Client, connect, json as jsonType, plan, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eachTestServer } from "../rpc/support/each-test-server.js";
import { claim, complete, oneTask } from "../rpc/support/fixtures.js";

const server = eachTestServer();

describe("a wait that is sent with its start, or right behind it", () => {
  test("never overtakes it on one stream, also before the start is durable", async () => {
    const submit = server.grpc.duplex(RunService.method.submit);
    for (let index = 0; index < 50; index++) {
      const runId = `r${index}`;
      const start = oneTask(runId, "k", { correlation: 2 * index + 1 });
      const wait = { runId, correlation: 2 * index + 2 };
      if (index % 2 === 0) {
        submit.send({ waits: [wait], starts: [start] });
      } else {
        submit.send({ starts: [start] });
        submit.send({ waits: [wait] });
      }
    }
    for (let index = 0; index < 50; index++) {
      await complete(server.grpc, await claim(server.grpc, "k"), index);
    }
    const ended = new Map<number, RunStatus | undefined>();
    while (ended.size < 50) {
      for (const { correlation, result, rejection } of (await submit.next()).results) {
        expect(rejection).toBeUndefined();
        ended.set(correlation, result?.status);
      }
    }
    expect([...ended.values()]).toEqual(Array.from({ length: 50 }, () => RunStatus.COMPLETED));
    submit.end();
  });

  test("of another stream is refused by name while there is no such run, and answered once there is", async () => {
    const early = server.grpc.duplex(RunService.method.submit);
    early.send({ waits: [{ runId: "r", correlation: 1 }] });
    expect((await early.next()).results[0]?.rejection?.reason).toBe("PAWL_RUN_NOT_FOUND");
    await server.grpc.unary(RunService.method.startRuns, { runs: [oneTask("r", "k")] });
    early.send({ waits: [{ runId: "r", correlation: 2 }] });
    await complete(server.grpc, await claim(server.grpc, "k"), 1);
    expect((await early.next()).results).toMatchObject([
      { correlation: 2, result: { status: RunStatus.COMPLETED } },
    ]);
    early.end();
  });
});

describe("the SDK", () => {
  let client: Client;
  const echo = task("echo", { input: jsonType<number>(), output: jsonType<number>() });

  beforeEach(() => {
    client = connect({
      url: `http://127.0.0.1:${server.server.port}`,
      onConnection: () => undefined,
    });
  });

  afterEach(async () => {
    await client.close({ drainMs: 0 });
  });

  test("awaits hundreds of results that are asked for in the moment of their starts", async () => {
    const worker = await client.worker({ serve: [echo.run(async (_ctx, n) => n * 2)], slots: 50 });
    const echoPlan = plan("echoes", {
      input: jsonType<number>(),
      tasks: { echo: { task: echo } },
      output: "echo",
    });
    const numbers = Array.from({ length: 300 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map(async (n) => (await client.start(echoPlan, n, { runId: `r${n}` })).result()),
    );
    expect(results).toEqual(numbers.map((n) => n * 2));
    await worker.close({ drainMs: 1_000 });
  });
});
