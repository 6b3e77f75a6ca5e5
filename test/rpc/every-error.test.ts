import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminCases } from "./support/admin-cases.js";
import { approvalCases } from "./support/approval-cases.js";
import type { Case, World } from "./support/error-case.js";
import { claim, complete, leasedRun, oneTask, textOf } from "./support/fixtures.js";
import { itemCases as batchCases } from "./support/item-cases.js";
import { obligationCases } from "./support/obligation-cases.js";
import { planCases } from "./support/plan-cases.js";
import { codeAndReason } from "./support/refusal.js";
import { rewindCases } from "./support/rewind-cases.js";
import type { RpcClient } from "./support/rpc-client.js";
import { runCases } from "./support/run-cases.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
import { updateCases, updateItemCases } from "./support/update-cases.js";
import { messageCases, waitCases } from "./support/wait-cases.js";
import { operationCases, reviewCases, workerCases } from "./support/work-cases.js";
import { buildWorld } from "./support/world.js";

const { method: run } = RunService;

const cases: readonly Case[] = [
  ...planCases,
  ...rewindCases,
  ...runCases,
  ...workerCases,
  ...waitCases,
  ...messageCases,
  ...updateCases,
  ...operationCases,
  ...reviewCases,
  ...approvalCases,
  ...adminCases,
];

const itemCases = [...batchCases, ...obligationCases, ...updateItemCases];

describe.each(["grpc", "json"] as const)("over %s", (protocol) => {
  let server: TestServer;
  let client: RpcClient;
  let world: World;

  beforeAll(async () => {
    server = await openTestServer();
    client = server[protocol];
    world = await buildWorld(client);
  });
  afterAll(async () => {
    await server.close();
    expect(server.faults).toEqual([]);
  });

  test.each(cases.map((each) => [each.name, each.expected, each] as const))(
    "%s is refused with %s",
    async (_name, expected, each) => {
      const error = await each.run(client, world).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(codeAndReason(error)).toBe(expected);
      expect(String(error)).toMatch(/: Expected .+, but .+\.$/s);
    },
  );

  test.each(itemCases.map((each) => [each.name, each.expected, each] as const))(
    "an item of %s is refused with %s",
    async (_name, expected, each) => {
      expect(await each.run(client, world)).toBe(expected);
    },
  );

  test("afterwards everything is served as before", async () => {
    const offer = await leasedRun(client, "after");
    await complete(client, offer, "fine");
    const { result: ended } = await client.unary(run.getResult, { runId: "after" });
    expect(textOf(ended?.output)).toBe('"fine"');
    await client.unary(AdminService.method.getServerInfo, {});
    await client.unary(run.startRuns, { runs: [oneTask("again", "kind-again")] });
    expect((await claim(client, "kind-again")).runId).toBe("again");
  });
});

describe("the cases", () => {
  test("name every method of the contract", () => {
    const named = new Set([...cases, ...itemCases].map(({ name }) => name));
    const streamed = ["Submit", "Work"]; // Their errors come per item; see submit-stream and work-stream.
    const withoutErrors = ["GetRetention", "GetServerInfo", "ListStarts"];
    const methods = [
      RunService,
      WorkerService,
      OperationService,
      ReviewService,
      ApprovalService,
      AdminService,
    ]
      .flatMap((service) => service.methods)
      .map(({ name }) => name);
    expect(methods.length).toBeGreaterThan(30);
    expect(
      methods.filter((name) => !named.has(name) && ![...streamed, ...withoutErrors].includes(name)),
    ).toEqual([]);
  });
});
