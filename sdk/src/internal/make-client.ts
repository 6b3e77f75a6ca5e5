import type { ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { PawlClient } from "../client.js";
import { withHotCodecs } from "./hot-transport.js";
import { Http2Connection } from "./http2-connection.js";

const MAX_MESSAGE_BYTES = 8_388_608;

/** How the kernel is reached. */
export interface ClientRoute {
  /** For messages. */
  readonly url: string;
  readonly origin: string;
  /** Passed to `http2.connect`: TLS settings, or how else a connection is made. */
  readonly nodeOptions: ClientSessionOptions | SecureClientSessionOptions;
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
  readonly interceptors: Interceptor[];
}

/** Makes the generated client over one connection. */
export function makeClient(route: ClientRoute): PawlClient {
  const connection = new Http2Connection({
    origin: route.origin,
    nodeOptions: route.nodeOptions,
    connectTimeoutMs: route.pingTimeoutMs,
    pingIntervalMs: route.pingIntervalMs,
    pingTimeoutMs: route.pingTimeoutMs,
  });
  const transport = createGrpcTransport({
    baseUrl: route.origin,
    sessionManager: connection,
    interceptors: route.interceptors,
    // Payloads are the caller's business, and so is their compression.
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
  });
  const hot = withHotCodecs(transport);
  return {
    url: route.url,
    runs: createClient(RunService, hot),
    workers: createClient(WorkerService, hot),
    operations: createClient(OperationService, transport),
    reviews: createClient(ReviewService, transport),
    approvals: createClient(ApprovalService, transport),
    admin: createClient(AdminService, transport),
    close: () => connection.destroy(),
  };
}
