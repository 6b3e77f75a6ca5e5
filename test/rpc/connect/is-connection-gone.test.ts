import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { isConnectionGone } from "@pawl/server/rpc/connect/is-connection-gone.js";
import { expect, test } from "vitest";

function systemError(syscall: string, code: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { syscall, code });
}

/** An error as Connect gives it on: the system's own stays as its cause. */
function asConnectTells(cause: Error): ConnectError {
  return new ConnectError(cause.message, Code.Internal, undefined, undefined, cause);
}

test.each(["ECANCELED", "EPIPE", "ECONNRESET"])(
  "a write that failed with %s had no connection",
  (code) => {
    expect(isConnectionGone(systemError("write", code))).toBe(true);
    expect(isConnectionGone(asConnectTells(systemError("write", code)))).toBe(true);
  },
);

test("a call that its caller ended had none either", () => {
  expect(isConnectionGone(new ConnectError("gone", Code.Canceled))).toBe(true);
  expect(isConnectionGone(new ConnectError("gone", Code.Aborted))).toBe(true);
});

test.each([
  ["a full disk", systemError("write", "ENOSPC")],
  ["a file that could not be read", systemError("read", "ECANCELED")],
  ["a defect", new TypeError("x is not a function")],
  ["no error at all", "gone"],
])("%s is a fault", (_, error) => {
  expect(isConnectionGone(error)).toBe(false);
  if (error instanceof Error) expect(isConnectionGone(asConnectTells(error))).toBe(false);
});

test("an error that names itself as its cause is looked at once", () => {
  const error: Error & { cause?: unknown } = new Error("round");
  error.cause = error;
  expect(isConnectionGone(error)).toBe(false);
});

/** Answers with far more than a connection keeps for a client that reads nothing, cuts it, and tells how writing it ended, if anything does. */
async function writeAndCut(response: ServerResponse): Promise<unknown> {
  async function* body(): AsyncIterable<Uint8Array> {
    yield await Promise.resolve(new Uint8Array(64 << 20));
  }
  const written = universalResponseToNodeResponse({ status: 200, body: body() }, response).then(
    () => "written",
    (error: unknown) => error,
  );
  await new Promise((resolve) => setImmediate(resolve));
  const closed = once(response, "close");
  response.destroy();
  await closed;
  // Newer versions of Node.js tell of a write on its way that nothing comes of; Node.js 20 leaves it at that.
  return await Promise.race([written, new Promise((resolve) => setTimeout(resolve, 50))]);
}

test("a connection that is cut while its client reads nothing is one, whatever Node.js calls it", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(portOf(server), "127.0.0.1");
  client.pause();
  client.on("error", () => {});
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  try {
    const [, response] = await once(server, "request");
    const told = await writeAndCut(response);
    expect(told).not.toBe("written");
    if (told !== undefined) expect(isConnectionGone(told)).toBe(true);
  } finally {
    client.destroy();
    server.close();
  }
});

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on no port");
  return address.port;
}
