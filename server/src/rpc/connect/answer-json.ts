import type { ServerResponse } from "node:http";
import { Code, type ConnectError } from "@connectrpc/connect";
import { errorToJson } from "@connectrpc/connect/protocol-connect";

/** HTTP status of a Connect error, by its code (https://connectrpc.com/docs/protocol/#error-codes). */
const httpStatus: Readonly<Partial<Record<Code, number>>> = {
  [Code.InvalidArgument]: 400,
  [Code.NotFound]: 404,
  [Code.PermissionDenied]: 403,
  [Code.Unimplemented]: 501,
  [Code.Unavailable]: 503,
};

/** Ends a request with a Connect error before any method has seen it. A streaming client gets it in its end-of-stream envelope. */
export function answerError(
  response: ServerResponse,
  error: ConnectError,
  contentType: string,
): void {
  const json = errorToJson(error, undefined);
  if (/^application\/connect\+/.test(contentType)) {
    const end = Buffer.from(JSON.stringify({ error: json }));
    const head = Buffer.alloc(5);
    head.writeUInt8(2, 0);
    head.writeUInt32BE(end.length, 1);
    response.writeHead(200, { "content-type": contentType });
    response.end(Buffer.concat([head, end]));
    return;
  }
  response.writeHead(httpStatus[error.code] ?? 500, {
    "content-type": "application/json",
    connection: "close",
  });
  response.end(JSON.stringify(json));
}

/** Ends a request that is no call with a sentence for people. */
export function answerText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end(`${text}\n`);
}
