import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestServer, type TestServer } from "./support/test-server.js";

let server: TestServer;
beforeEach(async () => { server = await openTestServer(); });
afterEach(async () => { await server.close(); expect(server.faults).toEqual([]); });

test("smoke", async () => {
  const info = await server.grpc.unary(AdminService.method.getServerInfo, {});
  expect(info.protocolVersion).toBe(1);
  expect((await server.json.unary(AdminService.method.getServerInfo, {})).protocolVersion).toBe(1);
  const submit = server.grpc.duplex(RunService.method.submit);
  submit.send({ starts: [{ runId: "a", workflow: "w", plan: { tasks: [{ name: "t", kind: "k" }], output: "t" }, correlation: 7, wait: true }] });
  const answer = await submit.next();
  expect(answer.accepted).toEqual([7]);
  const work = server.grpc.duplex(WorkerService.method.work);
  work.send({ hello: { protocolVersion: 1, sessionId: "s", worker: "w", serves: [{ kind: "k" }] }, credits: 1 });
  const welcome = await work.next();
  expect(welcome.welcome?.pingIntervalMs).toBe(5000);
  const offered = await work.nextWhere((m) => m.offers.length > 0);
  const [offer] = offered.offers;
  expect(offer).toMatchObject({ runId: "a", task: "t", kind: "k", attempt: 1, leaseVersion: 1 });
  work.send({ acks: [offer?.handle ?? 0], reports: [{ handle: offer?.handle ?? 0, leaseVersion: 1, correlation: 9, outcome: { case: "output", value: { contentType: "application/json", body: { case: "data", value: Buffer.from("1") } } } }] });
  expect((await work.nextWhere((m) => m.accepted.length > 0)).accepted).toEqual([9]);
  const ended = await submit.next();
  expect(ended.results[0]).toMatchObject({ correlation: 7, result: { status: 2 } });
  work.end(); submit.end();
  expect(await work.ended()).toBe("ended");
  expect(await submit.ended()).toBe("ended");
});
