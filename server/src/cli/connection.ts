import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { usageError } from "./cli-error.js";
import { type Credentials, noCredentials } from "./credentials.js";

/** How long one unary call may take. */
export const CALL_TIMEOUT_MS = 30_000;

/** A connection without calls closes after this time. */
const IDLE_MS = 1_000;

/** Clients of one kernel over one HTTP/2 connection, which opens with the first call. */
export interface Connection {
  readonly url: string;
  readonly runs: Client<typeof RunService>;
  readonly operations: Client<typeof OperationService>;
  readonly reviews: Client<typeof ReviewService>;
  readonly approvals: Client<typeof ApprovalService>;
  readonly admin: Client<typeof AdminService>;
  /** Ends what is still open, and lets the connection go. */
  close(): void;
}

/** Connects to the kernel at `url`. Errors: `CliError` when it is no http or https address. */
export function connect(url: string, { token, tls }: Credentials = noCredentials): Connection {
  const baseUrl = parseUrl(url);
  const sessionManager = new Http2SessionManager(
    baseUrl,
    { idleConnectionTimeoutMs: IDLE_MS },
    tls,
  );
  const interceptors = token === undefined ? [] : [authorize(token)];
  const transport = createGrpcTransport({ baseUrl, sessionManager, interceptors });
  return {
    url: baseUrl,
    runs: createClient(RunService, transport),
    operations: createClient(OperationService, transport),
    reviews: createClient(ReviewService, transport),
    approvals: createClient(ApprovalService, transport),
    admin: createClient(AdminService, transport),
    close: () => {
      // An idle connection holds no process and closes by itself. It is not cut: one that is broken tells its error only
      // when its socket has ended, and must find the manager's listener then.
      if (sessionManager.state() !== "idle") sessionManager.abort();
    },
  };
}

function authorize(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

function parseUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw usageError(
      `Expected the kernel's address to be like http://127.0.0.1:7295, but it is "${url}".`,
    );
  }
  return parsed.href.replace(/\/+$/, "");
}
