import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { nodeTimers } from "@pawl/server/kernel/node-ports.js";
import type { Timers } from "@pawl/server/kernel/ports.js";
import { tokenPollMs } from "@pawl/server/rpc/access/token-watch.js";
import { unreadMsMax } from "@pawl/server/rpc/grpc/cut-unread.js";
import { afterEach, expect, test } from "vitest";
import { oneTask } from "../rpc/support/fixtures.js";
import { type GuardedServer, type Minted, openGuardedServer } from "./support.js";

const { method: run } = RunService;
const inDefault = [{ namespace: "default", roles: ["client"] }];

let server: GuardedServer;
const sockets: Socket[] = [];

/** Looks at the token file often, and cuts what is not read after so long. */
async function open(cutMs: number): Promise<void> {
  const known = new Map([
    [tokenPollMs, 20],
    [unreadMsMax, cutMs],
  ]);
  const timers: Timers = {
    after: (delayMs, callback) => nodeTimers.after(known.get(delayMs) ?? delayMs, callback),
    soon: (callback) => nodeTimers.soon(callback),
  };
  server = await openGuardedServer({ timers });
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
  expect(server.faults).toEqual([]);
});

/** More than a loopback connection keeps for a client that does not read. */
const large = Buffer.alloc(4_100_000, "x");

/** Asks for all of it over HTTP/1.1, and reads nothing of the answer. */
async function askUnread(
  token: string,
): Promise<{ readonly socket: Socket; readonly closed: Promise<void> }> {
  const sha256 = createHash("sha256").update(large).digest("base64");
  const message = Buffer.from(JSON.stringify({ runId: "large", sha256 }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const socket = connect(server.server.port, "127.0.0.1");
  sockets.push(socket);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => {});
  socket.write(
    `POST /pawl.v1.RunService/ReadBlob HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/connect+json\r\ncontent-length: ${5 + message.length}\r\n\r\n`,
  );
  socket.write(Buffer.concat([head, message]));
  await new Promise((resolve) => socket.once("readable", resolve));
  // Who reads nothing learns of the end of a connection only by writing; blank lines are no request.
  const writing = setInterval(() => socket.write("\r\n"), 20);
  socket.on("close", () => clearInterval(writing));
  return { socket, closed };
}

async function revoke({ id, token }: Minted): Promise<void> {
  await server.edit((entries) => entries.filter((entry) => entry.id !== id));
  const isLetIn = () =>
    server
      .jsonWith(token)
      .unary(AdminService.method.getServerInfo, {})
      .then(
        () => true,
        () => false,
      );
  await expect.poll(isLetIn, { timeout: 20_000, interval: 10 }).toBe(false);
}

async function startLarge(token: string): Promise<void> {
  const input = {
    contentType: "application/octet-stream",
    body: { case: "data" as const, value: large },
  };
  await server.grpcWith(token).unary(run.startRuns, { runs: [oneTask("large", "k", { input })] });
}

test("a stream over HTTP/1.1 whose client reads nothing is cut when its token is revoked", async () => {
  await open(50);
  const gone = await server.mint("gone", inDefault);
  const other = await server.mint("stays", inDefault);
  await startLarge(other.token);
  const cut = await askUnread(gone.token);
  const kept = await askUnread(other.token);
  await revoke(gone);
  await cut.closed;
  expect(kept.socket.destroyed).toBe(false);
});

test("one whose client reads is told why, long before it would be cut", async () => {
  await open(60_000);
  const { id, token } = await server.mint("gone", inDefault);
  const watch = server.jsonWith(token).stream(run.watchRuns, {})[Symbol.asyncIterator]();
  await watch.next();
  await revoke({ id, token });
  await expect(watch.next()).rejects.toMatchObject({ reason: "PAWL_UNAUTHENTICATED" });
});
