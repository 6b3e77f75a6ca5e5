import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Code, ConnectError, createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { limits } from "../../core/limits.js";
import type { BoundService } from "../binding.js";
import type { Edge } from "../edge.js";
import { tooLarge } from "../refusals.js";
import { answerError, answerText } from "./answer-json.js";
import { boundedBody, discardRest } from "./bounded-body.js";
import { connectError } from "./connect-error.js";
import { connectionValues } from "./connect-proof.js";
import { registerRoutes } from "./connect-routes.js";
import { isConnectionGone } from "./is-connection-gone.js";
import { nameErrors } from "./name-errors.js";

/** Answers what is no call, for example the pages of the dashboard. True when it has taken the request. */
export type PageServer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** What the HTTP/1.1 half is made of. */
export interface HttpFrontParts {
  readonly edge: Edge;
  readonly services: readonly BoundService[];
  readonly pages: PageServer | undefined;
  /** How long the headers of a request may take, in ms. */
  readonly headersMs: number;
}

/** How long a whole request may take, in ms. */
const requestMs = 60_000;

/** Header bytes of one request. */
const headerBytesMax = 16 * 1024;

/** The HTTP/1.1 half of the port: Connect JSON, gRPC-web, pages. */
export function createHttpFront({ edge, services, pages, headersMs }: HttpFrontParts): Server {
  const router = createConnectRouter({
    readMaxBytes: limits.messageBytesMax,
    writeMaxBytes: limits.messageBytesMax,
    acceptCompression: [compressionGzip],
    jsonOptions: { ignoreUnknownFields: true },
  });
  registerRoutes(router, edge, services);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersMs,
      requestTimeout: Math.max(requestMs, headersMs),
      connectionsCheckingInterval: Math.min(5_000, headersMs),
    },
    (request, response) => {
      const path = (request.url ?? "").split("?", 1)[0] ?? "";
      const handler = handlers.get(path);
      const { host = "", origin } = request.headers;
      if (!edge.hosts.isOwn(host)) {
        answerText(response, 421, foreignHost);
      } else if (!edge.hosts.isOwnOrigin(origin, host)) {
        answerText(response, 403, foreignOrigin);
      } else if (handler === undefined) {
        answerOther(request, response, { path, pages });
      } else {
        answerCall(edge, handler, request, response);
      }
    },
  );
  server.on("clientError", (error, socket) => refuseBytes(error, socket as Socket));
  // Node looks at the age of requests only once its own server listens. This one is handed its connections by the port, and without
  // this a few thousand half-sent requests would hold the port's connections for ever.
  server.emit("listening");
  return server;
}

const foreignHost =
  "Expected to be asked as localhost, by a loopback address, or by a name of this kernel's certificate, but the Host header names another host. Next: use http://127.0.0.1, or allow the name with pawl serve --allow-host.";

const foreignOrigin =
  "Expected a request of this kernel's own pages, or of no browser, but the Origin header names another origin; pages of others may not call it. Next: call it from a server, or from its own pages.";

function answerCall(
  edge: Edge,
  handler: UniversalHandler,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const contentType = request.headers["content-type"] ?? "";
  if (handler.method.methodKind === "bidi_streaming") {
    const message =
      `Expected HTTP/2 for ${handler.method.name}, which streams both ways, but this is HTTP/1.1. ` +
      "Next: use a gRPC client, or the unary methods of the same service.";
    answerError(response, new ConnectError(message, Code.Unimplemented), contentType);
    return;
  }
  const bytes = Number(request.headers["content-length"] ?? 0);
  if (bytes > limits.messageBytesMax) {
    discardRest(request);
    answerError(response, connectError(tooLarge(bytes)), contentType);
    return;
  }
  const call = async (): Promise<void> => {
    const universal = universalRequestFromNodeRequest(
      request,
      response,
      undefined,
      connectionValues(request, response),
    );
    const answer = await nameErrors(await handler({ ...universal, body: boundedBody(request) }));
    if (!request.complete) {
      // What is left of the body is dropped: nothing may follow it on this connection.
      response.setHeader("connection", "close");
    }
    await universalResponseToNodeResponse(answer, response);
  };
  call().catch((error: unknown) => {
    // A caller that went away ends its own call; it is told nothing and nothing is wrong.
    if (!isConnectionGone(error)) {
      edge.onFault(error, handler.method.name);
    }
    response.destroy();
  });
}

function answerOther(
  request: IncomingMessage,
  response: ServerResponse,
  { path, pages }: { readonly path: string; readonly pages: PageServer | undefined },
): void {
  if (pages?.(request, response) === true) {
    return;
  }
  const contentType = request.headers["content-type"] ?? "";
  if (
    request.method === "POST" &&
    /^application\/(?:connect\+|grpc|json|proto)/.test(contentType)
  ) {
    const message = `Expected a method of this kernel, but it has none at ${path.slice(0, 200)}. Next: check the path; a newer client needs a newer kernel.`;
    answerError(response, new ConnectError(message, Code.Unimplemented), contentType);
    return;
  }
  const text =
    path === "/"
      ? "This is a Pawl kernel. It speaks gRPC over HTTP/2, and Connect JSON and gRPC-web over HTTP/1.1: POST /pawl.v1.AdminService/GetServerInfo with the JSON body {}."
      : "There is no page here. This is a Pawl kernel, which speaks gRPC and Connect.";
  answerText(response, path === "/" ? 200 : 404, text);
}

/** Bytes that are neither HTTP/2 nor HTTP/1.1. */
function refuseBytes(error: Error, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  if ("code" in error && error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    endSocket(
      socket,
      "408 Request Timeout",
      "Expected a whole request in time, but it did not come.\n",
    );
    return;
  }
  const isHeader = "code" in error && error.code === "HPE_HEADER_OVERFLOW";
  const text = isHeader
    ? `Expected at most ${headerBytesMax} bytes of headers, but there are more.\n`
    : "Expected HTTP/1.1 or gRPC over HTTP/2, but these bytes are neither. This is a Pawl kernel.\n";
  const status = isHeader ? "431 Request Header Fields Too Large" : "400 Bad Request";
  endSocket(socket, status, text);
}

function endSocket(socket: Socket, status: string, text: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}
