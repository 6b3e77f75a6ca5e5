import { X509Certificate } from "node:crypto";
import { Socket } from "node:net";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { Hosts, isLoopback } from "@pawl/server/rpc/hosts.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toRefusal } from "../rpc/support/grpc-client.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { makeAuthority } from "./make-certificate.js";

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer({ allowedHosts: ["pawl.behind.proxy"] });
});
afterAll(() => server.close());

describe("an authority", () => {
  const hosts = new Hosts(["Pawl.example"]);
  const { cert } = makeAuthority("a").certify([
    "CN=cn.test",
    "DNS:pawl.test",
    "DNS:*.pawl.test",
    "IP:10.1.2.3",
  ]);
  const certified = new Hosts([]);
  certified.useCertificate(new X509Certificate(cert));

  test.each([
    "localhost",
    "LOCALHOST:7295",
    "127.0.0.1:1",
    "127.9.9.9",
    "[::1]:7295",
    "pawl.example:80",
  ])("%s is one of this kernel", (authority) => expect(hosts.isOwn(authority)).toBe(true));

  test.each([
    "",
    "evil.example",
    "evil.example:7295",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "xlocalhost",
    "10.1.2.3",
    "0.0.0.0:7295",
    "pawl.example.evil",
    "pawl.test",
  ])("%j is not", (authority) => expect(hosts.isOwn(authority)).toBe(false));

  test.each(["pawl.test:443", "a.pawl.test", "10.1.2.3:443", "127.0.0.1"])(
    "%s is, by the certificate",
    (authority) => expect(certified.isOwn(authority)).toBe(true),
  );

  test.each(["cn.test", "a.b.pawl.test", "10.1.2.4", "test"])(
    "%s is not in the certificate",
    (authority) => expect(certified.isOwn(authority)).toBe(false),
  );

  test("is right only until the certificate that bears it is renewed", () => {
    expect(certified.isOwn("pawl.test")).toBe(true);
    const renewed = makeAuthority("a").certify(["DNS:other.test"]);
    certified.useCertificate(new X509Certificate(renewed.cert));
    expect(certified.isOwn("pawl.test")).toBe(false);
    expect(certified.isOwn("other.test")).toBe(true);
  });

  test("loopback addresses are told from all others", () => {
    expect(["127.0.0.1", "::1", "localhost"].map(isLoopback)).toEqual([true, true, true]);
    expect(["0.0.0.0", "::", "10.0.0.1", "localhost.x", ""].map(isLoopback)).toEqual(
      Array.from({ length: 5 }, () => false),
    );
  });
});

/** What is answered to a request of these lines. */
function ask(...lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new Socket();
    let text = "";
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
    socket.connect(server.server.port, "127.0.0.1", () => {
      const body = lines.includes("content-length: 2") ? "{}" : "";
      socket.write([...lines, "connection: close", "", body].join("\r\n"));
    });
  });
}

const post = "POST /pawl.v1.RunService/ListRuns HTTP/1.1";
const json = ["content-type: application/json", "content-length: 2"];

describe("over HTTP/1.1", () => {
  test.each(["evil.example", "evil.example:7295", "127.0.0.1.evil.example"])(
    "a page that made its name %s lead here is turned away",
    async (host) => {
      expect(await ask(post, `host: ${host}`, ...json)).toMatch(/^HTTP\/1\.1 421 /);
      expect(await ask("GET /metrics HTTP/1.1", `host: ${host}`)).toMatch(/^HTTP\/1\.1 421 /);
    },
  );

  test("a name that was allowed is right", async () => {
    expect(await ask(post, "host: pawl.behind.proxy", ...json)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each(["http://evil.example", "null", "http://localhost:1", "file://"])(
    "a page of the origin %s is turned away",
    async (origin) => {
      const answer = await ask(post, "host: localhost:7295", `origin: ${origin}`, ...json);
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).not.toMatch(/access-control-/i);
    },
  );

  test("the kernel's own page is let in, and so is what is no browser", async () => {
    const own = await ask(post, "host: localhost:7295", "origin: http://localhost:7295", ...json);
    expect(own).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask(post, "host: localhost", ...json)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "",
  ])("a body of the type %j, which pages may send without asking, is no call", async (type) => {
    const typed = type === "" ? [] : [`content-type: ${type}`];
    const answer = await ask(post, "host: localhost", ...typed, "content-length: 2");
    expect(answer).toMatch(/^HTTP\/1\.1 (?:415|404) /);
  });

  test("a page that asks first whether it may is not told that it may", async () => {
    const answer = await ask(
      "OPTIONS /pawl.v1.RunService/ListRuns HTTP/1.1",
      "host: localhost:7295",
      "origin: http://evil.example",
      "access-control-request-method: POST",
    );
    expect(answer).not.toMatch(/^HTTP\/1\.1 2/);
    expect(answer).not.toMatch(/access-control-allow/i);
  });

  test("a call as GET is none", async () => {
    const path = "/pawl.v1.RunService/ListRuns?connect=v1&encoding=json&message=%7B%7D";
    const answer = await ask(`GET ${path} HTTP/1.1`, "host: localhost");
    expect(answer).toMatch(/^HTTP\/1\.1 (?:405|404|415) /);
  });
});

describe("over HTTP/2", () => {
  function call(
    authority: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const client = new Client(`127.0.0.1:${server.server.port}`, credentials.createInsecure(), {
      "grpc.default_authority": authority,
    });
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) {
      metadata.set(name, value);
    }
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        `/pawl.v1.RunService/${RunService.method.listRuns.name}`,
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        Buffer.alloc(0),
        metadata,
        (error: ServiceError | null) => {
          client.close();
          resolve(error === null ? `${status[0]}` : codeAndReason(toRefusal(error)));
        },
      );
    });
  }

  test.each(["localhost", "127.0.0.1:7295", "pawl.behind.proxy"])("%s is let in", async (name) => {
    expect(await call(name)).toBe("OK");
  });

  test.each(["evil.example", "127.0.0.1.evil.example:80"])("%s is turned away", async (name) => {
    expect(await call(name)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  });

  test("a page of another origin is turned away, and the kernel's own is not", async () => {
    expect(await call("localhost:1", { origin: "http://evil.example" })).toBe(
      "INVALID_ARGUMENT PAWL_INVALID_FIELD",
    );
    expect(await call("localhost:1", { origin: "http://localhost:1" })).toBe("OK");
  });

  test("a stream is turned away as well", async () => {
    const client = new Client(`127.0.0.1:${server.server.port}`, credentials.createInsecure(), {
      "grpc.default_authority": "evil.example",
    });
    const stream = client.makeBidiStreamRequest(
      "/pawl.v1.RunService/Submit",
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
    );
    stream.on("data", () => {});
    const error = await new Promise<ServiceError>((resolve) => stream.on("error", resolve));
    expect(codeAndReason(toRefusal(error))).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    client.close();
  });
});
