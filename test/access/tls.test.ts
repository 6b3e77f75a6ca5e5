import { rename, writeFile } from "node:fs/promises";
import { request as startRequest } from "node:https";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { connect, task } from "@pawl/sdk";
import type { TokenEntry } from "@pawl/server/access/token-entry.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../cli/support/run-cli.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { openTestServer } from "../rpc/support/test-server.js";
import { type Authority, type Certified, makeAuthority } from "./make-certificate.js";
import { type GuardedServer, openGuardedServer, temporaryFolder } from "./support.js";
import { TlsGrpcClient } from "./tls-grpc-client.js";

const inDefault = (...roles: string[]) => [{ namespace: "default", roles }];

let authority: Authority;
let clients: Authority;
let folder: string;
let server: GuardedServer;
let token: string;

async function place(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return path;
}

beforeAll(async () => {
  folder = await temporaryFolder();
  authority = makeAuthority("the authority");
  clients = makeAuthority("authority of clients");
  const { cert, key } = authority.certify([
    "CN=pawl",
    "DNS:localhost",
    "DNS:pawl.test",
    "IP:127.0.0.1",
  ]);
  server = await openGuardedServer({
    tls: {
      certPath: await place("cert.pem", cert),
      keyPath: await place("key.pem", key),
      clientCaPath: await place("clients.pem", clients.cert),
    },
  });
  const entry: TokenEntry = {
    id: "0123456789ab",
    name: "builder",
    grants: inDefault("worker", "client"),
    createdAt: "2026-01-02T03:04:05.000Z",
    secrets: [],
    certificates: ["DNS:builder.test"],
  };
  const named: TokenEntry = {
    ...entry,
    id: "0123456789ac",
    name: "by-cn",
    certificates: ["CN=lone"],
  };
  await server.edit((entries) => [...entries, entry, named]);
  token = (await server.mintUnseen("shop", inDefault("client", "worker"))).token;
});
afterAll(() => server.close());

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A Connect call over HTTP/1.1 and TLS. */
function call(
  method: string,
  options: Partial<Certified> & { token?: string } = {},
): Promise<Answer> {
  const { token: sent, cert, key } = options;
  return new Promise((resolve, reject) => {
    const request = startRequest({
      ...{
        host: "127.0.0.1",
        port: server.server.port,
        path: `/pawl.v1.${method}`,
        method: "POST",
      },
      ...{ ca: authority.cert, servername: "pawl.test" },
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
      headers: {
        "content-type": "application/json",
        ...(sent === undefined ? {} : { authorization: `Bearer ${sent}` }),
      },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      let body = "";
      response.on("data", (chunk) => {
        body += String(chunk);
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.end("{}");
  });
}

function dial(protocols: readonly string[]): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      ...{ host: "127.0.0.1", port: server.server.port, ca: authority.cert },
      servername: "pawl.test",
      ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
    });
    socket.once("secureConnect", () => resolve(socket));
    socket.once("error", reject);
  });
}

function grpc(options: Partial<Certified> & { token?: string } = {}): TlsGrpcClient {
  return new TlsGrpcClient(server.server.port, { ...options, ca: authority.cert });
}

async function listWith(client: TlsGrpcClient): Promise<string> {
  try {
    await client.unary(RunService.method.listRuns, {});
    return "let in";
  } catch (error) {
    return codeAndReason(error);
  } finally {
    client.close();
  }
}

describe("the offer of a client decides", () => {
  test.each([
    [["h2", "http/1.1"], "http/1.1"],
    [["http/1.1"], "http/1.1"],
    [["h2"], "h2"],
    [[], false],
  ])("%j is answered with %s", async (offered, answered) => {
    const socket = await dial(offered);
    expect(socket.alpnProtocol).toBe(answered);
    socket.destroy();
  });

  test("one that offers nothing that is served is told so by TLS", async () => {
    await expect(dial(["spdy/3"])).rejects.toThrow(/no application protocol/i);
  });

  test("whoever offers nothing speaks HTTP/1.1", async () => {
    const socket = await dial([]);
    socket.write("GET /healthz HTTP/1.1\r\nhost: pawl.test\r\nconnection: close\r\n\r\n");
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("over TLS", () => {
  test("a token counts with gRPC and with Connect JSON", async () => {
    expect(await listWith(grpc({ token }))).toBe("let in");
    expect((await call("RunService/ListRuns", { token })).status).toBe(200);
    expect(await listWith(grpc())).toBe("UNAUTHENTICATED PAWL_UNAUTHENTICATED");
    expect(await call("RunService/ListRuns")).toMatchObject({
      status: 401,
      body: expect.stringContaining("PAWL_UNAUTHENTICATED"),
    });
  });

  test("plaintext is not answered", async () => {
    await expect(fetch(`http://127.0.0.1:${server.server.port}/healthz`)).rejects.toThrow();
  });

  test("a client certificate is the principal that the token file names for it", async () => {
    const builder = clients.certify(["CN=whatever", "DNS:builder.test"]);
    expect(await listWith(grpc(builder))).toBe("let in");
    expect((await call("RunService/ListRuns", builder)).status).toBe(200);
    const denied = await call("RunService/TerminateRun", builder);
    expect(denied.status).toBe(403);
    expect(denied.body).toMatch(/Expected builder to have role operator or admin/);
    expect(await listWith(grpc(clients.certify(["CN=lone"])))).toBe("let in");
  });

  test.each([
    ["of another authority", () => makeAuthority("stranger").certify(["DNS:builder.test"])],
    ["with other names", () => clients.certify(["CN=builder.test", "DNS:other.test"])],
    ["with two names in one", () => clients.certify(["DNS:x, DNS:builder.test"])],
    ["that is the kernel's own", () => authority.certify(["DNS:builder.test"])],
  ])("a client certificate %s is nobody's", async (_, make) => {
    const certified = make();
    expect(await listWith(grpc(certified))).toBe("UNAUTHENTICATED PAWL_UNAUTHENTICATED");
    expect((await call("RunService/ListRuns", certified)).status).toBe(401);
  });

  test("a token goes before a certificate, also when it does not count", async () => {
    const builder = clients.certify(["DNS:builder.test"]);
    const wrong = `${token.slice(0, -4)}AAAA`;
    expect(await listWith(grpc({ ...builder, token: wrong }))).toBe(
      "UNAUTHENTICATED PAWL_UNAUTHENTICATED",
    );
  });

  test("the SDK starts, serves and awaits", async () => {
    const client = connect({
      url: `https://127.0.0.1:${server.server.port}`,
      token: () => token,
      tls: { ca: authority.cert },
    });
    try {
      const double = task<number, number>("double").run((_ctx, value) => value * 2);
      await client.worker({ serve: [double] });
      expect(await client.execute(double, 21, { timeout: "20s" })).toBe(42);
    } finally {
      await client.close();
    }
  });

  test("the command-line tool trusts what PAWL_CA names, and sends the token of a file", async () => {
    const url = `https://127.0.0.1:${server.server.port}`;
    const ca = await place("authority.pem", authority.cert);
    const tokenFile = await place("token", `${token}\n`);
    const args = ["namespace", "list", "--json", "--url", url];
    const listed = await runCli([...args, "--token-file", tokenFile], { env: { PAWL_CA: ca } });
    expect(listed).toMatchObject({ code: 0, errors: "" });
    expect(JSON.parse(listed.out)).toMatchObject({ name: "default" });
    const named = await runCli(args, { env: { PAWL_CA: ca, PAWL_TOKEN: token } });
    expect(named.code).toBe(0);
    const without = await runCli(args, { env: { PAWL_CA: ca } });
    expect(without.code).toBe(1);
    expect(without.errors).toContain("PAWL_UNAUTHENTICATED");
  });
});

test("the command-line tool says that it trusts no such authority, or that http is no way in", async () => {
  const address = `127.0.0.1:${server.server.port}`;
  const untrusted = await runCli(["info", "--url", `https://${address}`]);
  expect(untrusted.code).toBe(69);
  expect(untrusted.errors).toContain("to show a certificate that this machine trusts");
  expect(untrusted.errors).toContain("PAWL_CA=FILE");
  const plain = await runCli(["info", "--url", `http://${address}`]);
  expect(plain.code).toBe(69);
  expect(plain.errors).toContain("https");
});

test("a renewed certificate is served without a restart; a damaged one is not", async () => {
  const serialNow = async (): Promise<string> => {
    const socket = await dial(["h2"]);
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };
  const before = await serialNow();
  const open = grpc({ token });
  await open.unary(AdminService.method.getServerInfo, {});
  const faults = server.faults.length;
  await place("cert.pem", "no certificate");
  await expect.poll(() => server.faults.length, { timeout: 20_000 }).toBeGreaterThan(faults);
  expect(String(server.faults.at(-1)?.error)).toContain("cert.pem");
  expect(await serialNow()).toBe(before);
  const renewed = authority.certify([
    "CN=pawl",
    "DNS:pawl.test",
    "DNS:renewed.test",
    "IP:127.0.0.1",
  ]);
  await place("key.pem", renewed.key);
  await place("cert.pem", renewed.cert);
  await expect.poll(serialNow, { timeout: 20_000 }).not.toBe(before);
  await open.unary(AdminService.method.getServerInfo, {});
  open.close();
  expect(await listWith(grpc({ token }))).toBe("let in");
});

describe("an address that others can reach", () => {
  const refused = { code: "PAWL_HOST_REFUSED" };

  test("is refused without TLS and tokens, with the way to it", async () => {
    const all = openTestServer({ host: "0.0.0.0" });
    await expect(all).rejects.toMatchObject(refused);
    await expect(all).rejects.toThrow(/--tls-cert FILE --tls-key FILE.*pawl token create/);
  });

  test("is refused with one of them alone", async () => {
    const { certPath, keyPath } = {
      certPath: join(folder, "cert.pem"),
      keyPath: join(folder, "key.pem"),
    };
    const withTls = openTestServer({ host: "0.0.0.0", tls: { certPath, keyPath } });
    await expect(withTls).rejects.toMatchObject(refused);
    const tokens = { path: server.path, isRequired: true };
    await expect(openTestServer({ host: "0.0.0.0", tokens })).rejects.toMatchObject(refused);
  });

  test("is served with both", async () => {
    const tls = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
    const open = await openGuardedServer({ host: "0.0.0.0", tls });
    await open.close();
  });

  test("is not served with a key of another certificate", async () => {
    const other = authority.certify(["CN=other"]);
    const tls = {
      certPath: join(folder, "cert.pem"),
      keyPath: await place("other.pem", other.key),
    };
    await expect(openTestServer({ tls })).rejects.toMatchObject({ code: "PAWL_TLS_INVALID" });
  });
});
