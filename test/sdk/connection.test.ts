import { once } from "node:events";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import * as net from "node:net";
import { Http2Connection } from "@pawl/sdk/internal/http2-connection.js";
import { afterEach, beforeEach, expect, test } from "vitest";

let server: http2.Http2Server;
let sessions: http2.ServerHttp2Session[];
let connection: Http2Connection;

async function listen(listener: net.Server | http2.Http2Server): Promise<Http2Connection> {
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", () => resolve()));
  const { port } = listener.address() as AddressInfo;
  return new Http2Connection({
    origin: `http://127.0.0.1:${port}`,
    nodeOptions: {},
    connectTimeoutMs: 200,
    pingIntervalMs: 40,
    pingTimeoutMs: 80,
  });
}

beforeEach(async () => {
  sessions = [];
  server = http2.createServer();
  server.on("session", (session) => {
    session.on("error", () => undefined);
    sessions.push(session);
  });
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200 });
    stream.resume();
  });
  connection = await listen(server);
});

afterEach(async () => {
  connection.destroy();
  for (const session of sessions) session.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function open(): Promise<http2.ClientHttp2Stream> {
  const stream = await connection.request("POST", "/x", {}, {});
  stream.on("error", () => undefined);
  await once(stream, "response");
  return stream;
}

test("streams share one connection", async () => {
  await Promise.all([open(), open(), open()]);
  expect(sessions).toHaveLength(1);
});

test("a connection that was cut is made anew with the next stream", async () => {
  const stream = await open();
  const cut = new Promise((resolve) => stream.on("close", resolve));
  sessions[0]?.socket.resetAndDestroy();
  await cut;
  await open();
  expect(sessions).toHaveLength(2);
});

test("after GOAWAY what is open goes on, what is new goes elsewhere, and the old connection then ends", async () => {
  const old = await open();
  sessions[0]?.goaway();
  await expect
    .poll(async () => {
      (await open()).close();
      return sessions.length;
    })
    .toBeGreaterThan(1);
  expect(old.closed).toBe(false);
  const first = sessions[0];
  old.end();
  old.close();
  await expect.poll(() => first?.destroyed).toBe(true);
});

test("a peer that accepts and says nothing is not waited for", async () => {
  const silent = net.createServer((socket) => socket.on("error", () => undefined).resume());
  const toSilent = await listen(silent);
  await expect(toSilent.request("POST", "/x", {}, {})).rejects.toThrow(/no HTTP\/2 settings/);
  toSilent.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

test("a peer that closes at once is an error, not a hang", async () => {
  const closing = net.createServer((socket) => socket.resume().end());
  const toClosing = await listen(closing);
  await expect(toClosing.request("POST", "/x", {}, {})).rejects.toThrow(/closed the connection/);
  toClosing.destroy();
  await new Promise((resolve) => closing.close(resolve));
});

test("a peer that stops answering is found by pings, and its streams end", async () => {
  // A proxy that can fall silent without closing.
  const target = (server.address() as AddressInfo).port;
  let isSilent = false;
  const proxy = net.createServer((near) => {
    const far = net.connect(target, "127.0.0.1");
    near.on("error", () => undefined).on("close", () => far.destroy());
    far.on("error", () => undefined).on("close", () => near.destroy());
    near.on("data", (data) => isSilent || far.write(data));
    far.on("data", (data) => isSilent || near.write(data));
  });
  const through = await listen(proxy);
  const stream = await through.request("POST", "/x", {}, {});
  const failed = once(stream, "error");
  await once(stream, "response");
  isSilent = true;
  expect(String((await failed)[0])).toMatch(/did not answer a ping/);
  isSilent = false;
  const next = await through.request("POST", "/x", {}, {});
  next.on("error", () => undefined);
  await once(next, "response");
  through.destroy();
  await new Promise((resolve) => proxy.close(resolve));
});

test("a stream that is closed from within the reading of a frame sends that when the frame is read, and not before", async () => {
  const stream = await connection.request("POST", "/x", {}, {});
  stream.on("error", () => undefined);
  const closedWithin = new Promise<boolean>((resolve) => {
    // The host tells of a response while it reads the frame that brought it.
    stream.once("response", () => {
      stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR, () => undefined);
      resolve(stream.closed);
    });
  });
  const isClosed = new Promise((resolve) => stream.once("close", resolve));
  expect(await closedWithin).toBe(false);
  await isClosed;
  expect(stream.rstCode).toBe(http2.constants.NGHTTP2_INTERNAL_ERROR);
});

test("what is told when a stream is closed is told, also of one that the peer closes first", async () => {
  const stream = await open();
  const told = new Promise<void>((resolve) => stream.close(undefined, resolve));
  sessions[0]?.destroy();
  await told;
  expect(stream.destroyed).toBe(true);
});
