import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { expect, test } from "vitest";
import { eachTestServer } from "../rpc/support/each-test-server.js";
import { json, oneTask } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";

const { method } = RunService;

const server = eachTestServer();

const runCount = 400;

async function countLeased(): Promise<number> {
  const found = Array.from({ length: runCount }, (_, index) =>
    server.grpc.unary(method.listTasks, { runId: `r${index}` }),
  );
  const answers = await Promise.all(found);
  return answers.filter(({ tasks }) => tasks[0]?.status === TaskStatus.LEASED).length;
}

test("a worker that does not read is given no more tasks, whatever its credits, and goes on once it reads", async () => {
  const worker = await TestWorker.connect(server.grpc, {}, { credits: 1_000_000 });
  worker.stream.call.pause();
  const input = json("x".repeat(30_000));
  for (let index = 0; index < runCount; index++) {
    await server.grpc.unary(method.startRuns, { runs: [oneTask(`r${index}`, "k", { input })] });
  }
  // What its connection and one turn hold is offered; the rest stays ready for others.
  expect(await countLeased()).toBeLessThan(runCount / 2);
  worker.stream.call.resume();
  const offered = new Set<string>();
  while (offered.size < runCount) {
    offered.add((await worker.offer()).runId);
  }
});
