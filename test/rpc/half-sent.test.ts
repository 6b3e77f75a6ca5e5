import { connect, type Socket } from "node:net";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestServer, type TestServer } from "./support/test-server.js";

let server: TestServer;

beforeEach(async () => {
  server = await openTestServer({ headersMs: 200 });
});

afterEach(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

/** Sends bytes on a connection of its own; what comes back until the kernel ends it. */
function answerTo(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect(server.server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
    socket.write(bytes);
  });
}

test("a request whose headers never end is told so and cut, and the next call is served", async () => {
  const answer = await answerTo("POST /pawl.v1.AdminService/GetServerInfo HTTP/1.1\r\nHost: loc");
  expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  const info = await server.json.unary(AdminService.method.getServerInfo, {});
  expect(info.protocolVersion).toBe(1);
});
