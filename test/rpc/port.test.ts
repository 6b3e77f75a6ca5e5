import { connect, createServer, type Socket } from "node:net";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { ListenError } from "@pawl/server/rpc/port.js";
import { startServer } from "@pawl/server/rpc/server.js";
import { describe, expect, test } from "vitest";
import { VirtualTime } from "../support/virtual-time.js";
import { eachTestServer } from "./support/each-test-server.js";
import { openTestServer } from "./support/test-server.js";

const infoPath = "/pawl.v1.AdminService/GetServerInfo";

const server = eachTestServer();

/** Sends bytes and gives everything that comes back until the connection closes. */
function exchange(port: number, ...chunks: readonly (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(port, "127.0.0.1");
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("close", () => resolve(received));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET") {
        reject(error);
      }
    });
    socket.on("connect", () => sendSlowly(socket, chunks));
  });
}

/** Each chunk in a packet of its own. */
function sendSlowly(socket: Socket, [first, ...others]: readonly (string | Uint8Array)[]): void {
  if (first !== undefined) {
    socket.setNoDelay(true);
    socket.write(first, () => setImmediate(() => sendSlowly(socket, others)));
  }
}

const http1 = (method: string, path: string, headers = "", body = ""): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n${headers}\r\n${body}`;

const jsonHeaders = "content-type: application/json\r\ncontent-length: 2\r\n";

describe("one port", () => {
  test("serves gRPC and Connect JSON", async () => {
    const overGrpc = await server.grpc.unary(AdminService.method.getServerInfo, {});
    const overJson = await server.json.unary(AdminService.method.getServerInfo, {});
    expect(overGrpc.storeId).toBe(overJson.storeId);
    expect(overGrpc.version).toMatch(/^\d+\.\d+\.\d+/);
  });

  test("tells HTTP/1.1 from HTTP/2 also when the first bytes come one by one", async () => {
    const request = http1("POST", infoPath, jsonHeaders, "{}");
    const answer = await exchange(server.server.port, ...request);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
    const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    // The preface, then a frame that is none: an HTTP/2 server closes with GOAWAY (frame type 7).
    const goAway = await exchange(server.server.port, ...preface, "garbage that is no frame....");
    expect(goAway).not.toMatch(/^HTTP\/1\.1/);
    expect(goAway.length).toBeGreaterThan(9);
  });

  test("answers people with a sentence", async () => {
    const root = await server.json.fetch("/");
    expect(root.status).toBe(200);
    expect(await root.text()).toContain("This is a Pawl kernel");
    expect((await server.json.fetch("/favicon.ico")).status).toBe(404);
  });

  test("answers a method that it has not as unimplemented", async () => {
    const response = await server.json.fetch("/pawl.v1.ThreadService/GetThread", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(501);
    expect(await response.json()).toMatchObject({ code: "unimplemented" });
  });

  test.each(["pawl.v1.RunService/Submit", "pawl.v1.WorkerService/Work"])(
    "says of %s over HTTP/1.1 what it needs",
    async (path) => {
      const unary = await server.json.fetch(`/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      expect(unary.status).toBe(501);
      const error = await unary.json();
      expect(error).toMatchObject({ code: "unimplemented" });
      expect(JSON.stringify(error)).toContain("HTTP/2");
      const streamed = await server.json.fetch(`/${path}`, {
        method: "POST",
        headers: { "content-type": "application/connect+json" },
        body: Buffer.from([0, 0, 0, 0, 2, 0x7b, 0x7d]),
      });
      expect(streamed.status).toBe(200);
      const text = await streamed.text();
      expect(text.charCodeAt(0)).toBe(2);
      expect(JSON.parse(text.slice(5))).toMatchObject({ error: { code: "unimplemented" } });
    },
  );

  test("refuses a web page that rebound its own name to this machine", async () => {
    const request = http1("POST", infoPath, jsonHeaders, "{}").replace("127.0.0.1", "evil.example");
    expect(await exchange(server.server.port, request)).toMatch(/^HTTP\/1\.1 421/);
  });
});

describe("foreign bytes", () => {
  test.each([
    ["a TLS client", Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00])],
    ["HTML of a proxy", "<html><body>502 Bad Gateway</body></html>\r\n\r\n"],
    ["noise", Buffer.from(Array.from({ length: 64 }, (_, index) => (index * 37) % 251))],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
  ])("of %s are answered in words and closed, and the next call is served", async (_n, bytes) => {
    const answer = await exchange(server.server.port, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 400/);
    expect(answer).toContain("This is a Pawl kernel");
    await server.grpc.unary(AdminService.method.getServerInfo, {});
    await server.json.unary(AdminService.method.getServerInfo, {});
  });

  test("too many headers are refused with the bound", async () => {
    const headers = `x: ${"y".repeat(20_000)}\r\n`;
    const answer = await exchange(server.server.port, http1("GET", "/", headers));
    expect(answer).toMatch(/^HTTP\/1\.1 431/);
    expect(answer).toContain("16384");
  });

  test("a connection that says nothing is cut after the handshake's time", async () => {
    const time = new VirtualTime();
    const slow = await openTestServer({ timers: time });
    const closed = exchange(slow.server.port);
    const half = exchange(slow.server.port, "PRI * HT");
    // Both connections must have been accepted before their time can run.
    await slow.json.unary(RunService.method.listRuns, {}).catch(() => undefined);
    await time.advance(5_001);
    expect(await Promise.all([closed, half])).toEqual(["", ""]);
    const closing = slow.close();
    await time.advance(10_000);
    await closing;
  });
});

describe("opening", () => {
  test("a port that is taken is said so, by a typed error", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const opening = startServer({ kernel: server.kernel, port });
    await expect(opening).rejects.toBeInstanceOf(ListenError);
    await expect(opening).rejects.toMatchObject({
      ...{ code: "PAWL_PORT_IN_USE", host: "127.0.0.1", port },
      message: expect.stringContaining("--port"),
    });
    other.close();
  });

  test.each(["0.0.0.0", "::", "192.168.1.5", "example.org"])(
    "%s is refused: it is not loopback",
    async (host) => {
      await expect(startServer({ kernel: server.kernel, host, port: 0 })).rejects.toMatchObject({
        code: "PAWL_HOST_REFUSED",
        host,
      });
    },
  );

  test("IPv6 loopback is taken", async () => {
    const running = await startServer({ kernel: server.kernel, host: "::1", port: 0 });
    const response = await fetch(`http://[::1]:${running.port}/`);
    expect(response.status).toBe(200);
    await running.close();
  });
});
