import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ClientReadableStream } from "@grpc/grpc-js";
import {
  RunService,
  WatchRunsRequestSchema,
  type WatchRunsResponse,
  WatchRunsResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { expect, test } from "vitest";
import { eachTestServer } from "../rpc/support/each-test-server.js";
import { json, oneTask } from "../rpc/support/fixtures.js";
import { toRefusal } from "../rpc/support/grpc-client.js";

const server = eachTestServer();

/** A watch of all runs that a test reads when it wants to. */
function watch(): ClientReadableStream<WatchRunsResponse> {
  const { method } = RunService;
  const call = server.grpc.raw.makeServerStreamRequest(
    `/${RunService.typeName}/${method.watchRuns.name}`,
    (bytes: Buffer) => bytes,
    (bytes: Buffer) => fromBinary(WatchRunsResponseSchema, bytes),
    Buffer.from(toBinary(WatchRunsRequestSchema, create(WatchRunsRequestSchema))),
  );
  return call;
}

/** Three times what may wait for a watcher in the kernel, behind what its connection holds. */
const runCount = 420;

/** Starts runs with large inputs, each when the one before it is durable. */
async function startLarge(): Promise<void> {
  const input = json("x".repeat(30_000));
  for (let index = 0; index < runCount; index++) {
    const { results } = await server.grpc.unary(RunService.method.startRuns, {
      runs: [oneTask(`r${index}`, "k", { input })],
    });
    expect(results[0]?.rejection).toBeUndefined();
  }
}

test("a watcher that does not read is ended, holds nobody up, and misses nothing from its last position on", async () => {
  const call = watch();
  const first = await new Promise<WatchRunsResponse>((resolve) => call.once("data", resolve));
  call.pause();
  expect(first.events).toEqual([]);
  // It stops reading; everybody else goes on.
  await startLarge();

  const seen: string[] = [];
  let { position } = first;
  const refusal = await new Promise((resolve) => {
    call.on("data", (message: WatchRunsResponse) => {
      seen.push(...message.events.map(({ runId }) => runId));
      ({ position } = message);
    });
    call.on("error", (error) => resolve(toRefusal(error as never)));
    call.resume();
  });
  expect(refusal).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "PAWL_WATCHER_TOO_SLOW" });
  expect(seen.length).toBeLessThan(runCount);

  for await (const message of server.grpc.stream(RunService.method.watchRuns, { position })) {
    seen.push(...message.events.map(({ runId }) => runId));
    if (seen.length >= runCount) break;
  }
  expect(seen).toEqual(Array.from({ length: runCount }, (_, index) => `r${index}`));
});
