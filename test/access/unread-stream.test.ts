import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { nodeTimers } from "@pawl/server/kernel/node-ports.js";
import type { Timers } from "@pawl/server/kernel/ports.js";
import { tokenPollMs } from "@pawl/server/rpc/access/token-watch.js";
import { unreadMsMax } from "@pawl/server/rpc/grpc/cut-unread.js";
import { afterEach, expect, test } from "vitest";
import { oneTask } from "../rpc/support/fixtures.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

const { method: run } = RunService;

let server: GuardedServer;
let session: ClientHttp2Session;

/** Looks at the token file often, and cuts what is not read after so long. */
async function open(cutMs: number): Promise<void> {
  const timers: Timers = {
    after: (delayMs, callback) => {
      const known = new Map([
        [tokenPollMs, 20],
        [unreadMsMax, cutMs],
      ]);
      return nodeTimers.after(known.get(delayMs) ?? delayMs, callback);
    },
    soon: (callback) => nodeTimers.soon(callback),
  };
  server = await openGuardedServer({ timers });
  // A window of one byte: no answer gets through to this client, and no status behind it.
  session = connect(`http://127.0.0.1:${server.server.port}`, {
    settings: { initialWindowSize: 1 },
  });
}

afterEach(async () => {
  session.destroy();
  await server.close();
  expect(server.faults).toEqual([]);
});

function openStream(path: string, token: string): ClientHttp2Stream {
  return session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    authorization: `Bearer ${token}`,
  });
}

function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function submit(
  stream: ClientHttp2Stream,
  request: MessageInitShape<typeof run.submit.input>,
): void {
  stream.write(framed(toBinary(run.submit.input, create(run.submit.input, request))));
}

async function revoke(id: string): Promise<void> {
  await server.edit((entries) => entries.filter((entry) => entry.id !== id));
}

const inDefault = [{ namespace: "default", roles: ["client"] }];

/** Waits until the token counts no more. */
async function untilRevoked(token: string): Promise<void> {
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

test.each([
  ["a stream both ways", "/pawl.v1.RunService/Submit"],
  ["a watch", "/pawl.v1.RunService/WatchRuns"],
])("%s whose client reads nothing is cut when its token is revoked", async (_, path) => {
  await open(50);
  const { id, token } = await server.mint("gone", inDefault);
  const stream = openStream(path, token);
  const closed = new Promise<number>((resolve) => {
    stream.on("close", () => resolve(stream.rstCode ?? -1));
    stream.on("error", () => {});
  });
  const isSubmit = path.endsWith("Submit");
  if (isSubmit) {
    submit(stream, { waits: [{ correlation: 1, runId: "absent" }] });
  } else {
    stream.end(framed(new Uint8Array()));
  }
  await new Promise((resolve) => stream.once("response", resolve));
  await revoke(id);
  expect(await closed).toBe(constants.NGHTTP2_CANCEL);
});

test("a stream whose token is revoked takes nothing more, also while its status is on its way", async () => {
  await open(60_000);
  const { id, token } = await server.mint("gone", inDefault);
  const other = await server.mint("stays", inDefault);
  const stream = openStream("/pawl.v1.RunService/Submit", token);
  stream.on("error", () => {});
  submit(stream, { starts: [{ ...oneTask("before", "k"), correlation: 1 }] });
  await new Promise((resolve) => stream.once("response", resolve));
  await revoke(id);
  await untilRevoked(token);
  submit(stream, { starts: [{ ...oneTask("after", "k"), correlation: 2 }] });
  // What was sent on the same connection later is answered: so the start has come in before.
  const ping = () => new Promise<void>((resolve) => session.ping(() => resolve()));
  await ping();
  await ping();
  const { runs } = await server.grpcWith(other.token).unary(run.listRuns, {});
  expect(runs.map(({ runId }) => runId)).toEqual(["before"]);
});
