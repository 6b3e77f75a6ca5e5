import { connect as connectSocket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import type { Client, Interceptor } from "@connectrpc/connect";
import type { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import type { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import type { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import type { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import type { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { DefinitionInvalid } from "./errors.js";
import { makeClient } from "./internal/make-client.js";

/** Where a kernel is, and how to reach it. */
export interface PawlClientOptions {
  /** Address, for example `http://127.0.0.1:7295`, `https://pawl.internal`, or `unix:/run/pawl.sock`. */
  readonly url: string;
  /** Sent as bearer token with every call. A function is asked each time, so that a token may change. */
  readonly token?: string | (() => string);
  /** TLS: own certificate authority, client certificate. For `https:` only. */
  readonly tls?: Pick<SecureContextOptions, "ca" | "cert" | "key">;
  /** A connection on which nothing was heard for this long is pinged, in ms. Default 5,000. */
  readonly pingIntervalMs?: number;
  /** A ping must be answered, and a new connection be made, within this many ms. Default 10,000. */
  readonly pingTimeoutMs?: number;
}

/**
 * The whole generated client: every service of the API, as protobuf has it, over one connection. A call fails when the
 * kernel is away; what the rest of this SDK adds is that nothing else does.
 */
export interface PawlClient {
  /** Where the kernel is. */
  readonly url: string;
  /** Starting, awaiting, reading and ending runs. */
  readonly runs: Client<typeof RunService>;
  /** What workers use. */
  readonly workers: Client<typeof WorkerService>;
  /** The ledger of external effects. */
  readonly operations: Client<typeof OperationService>;
  /** What waits for a person. */
  readonly reviews: Client<typeof ReviewService>;
  /** Actions that people must allow first. */
  readonly approvals: Client<typeof ApprovalService>;
  /** The kernel itself. */
  readonly admin: Client<typeof AdminService>;
  /** Ends the connection with all its calls. A later call makes a new one. */
  close(): void;
}

/**
 * Makes the generated client. It connects with the first call.
 *
 * @throws DefinitionInvalid when the address is none.
 */
export function createPawlClient(options: PawlClientOptions): PawlClient {
  const address = readAddress(options.url);
  return makeClient({
    url: options.url,
    origin: address.origin,
    nodeOptions: address.path === undefined ? { ...options.tls } : socketOptions(address.path),
    pingIntervalMs: options.pingIntervalMs ?? 5_000,
    pingTimeoutMs: options.pingTimeoutMs ?? 10_000,
    interceptors: options.token === undefined ? [] : [authorize(options.token)],
  });
}

interface Address {
  readonly origin: string;
  /** Path of a local socket. */
  readonly path: string | undefined;
}

function readAddress(url: string): Address {
  if (url.startsWith("unix:")) {
    return { origin: "http://localhost", path: url.slice("unix:".length) };
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw new DefinitionInvalid(
      `Expected the url of a kernel, such as http://127.0.0.1:7295, but it is "${url}". Give scheme, host and port.`,
    );
  }
  if (parsed.pathname !== "/" || parsed.search !== "") {
    throw new DefinitionInvalid(
      `Expected the url of a kernel without a path, but it is "${url}". gRPC serves at the root of a host.`,
    );
  }
  return { origin: parsed.origin, path: undefined };
}

function socketOptions(path: string): { createConnection: () => ReturnType<typeof connectSocket> } {
  return { createConnection: () => connectSocket({ path }) };
}

function authorize(token: string | (() => string)): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${typeof token === "string" ? token : token()}`);
    return next(request);
  };
}
