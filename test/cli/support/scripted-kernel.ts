import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { type Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ErrorInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";

/** The calls that a test's kernel answers; any other is unimplemented. */
export interface Script {
  readonly runs?: Partial<ServiceImpl<typeof RunService>>;
  readonly operations?: Partial<ServiceImpl<typeof OperationService>>;
  readonly reviews?: Partial<ServiceImpl<typeof ReviewService>>;
  readonly approvals?: Partial<ServiceImpl<typeof ApprovalService>>;
  readonly admin?: Partial<ServiceImpl<typeof AdminService>>;
}

/** A server that answers as the test wrote down. */
export interface ScriptedKernel {
  readonly url: string;
  /** Cuts every connection, as a killed kernel does; new ones are taken. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a server on a free port of this machine. */
export async function startScriptedKernel(script: Script): Promise<ScriptedKernel> {
  const routes = (router: ConnectRouter): void => {
    if (script.runs !== undefined) router.service(RunService, script.runs);
    if (script.operations !== undefined) router.service(OperationService, script.operations);
    if (script.reviews !== undefined) router.service(ReviewService, script.reviews);
    if (script.approvals !== undefined) router.service(ApprovalService, script.approvals);
    if (script.admin !== undefined) router.service(AdminService, script.admin);
  };
  const server: Http2Server = createServer(connectNodeAdapter({ routes }));
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const session of sessions) session.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** An error as a kernel sends it. */
export function refusal(code: Code, reason: string, message: string): ConnectError {
  return new ConnectError(message, code, undefined, [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: "pawl" }) },
    { desc: RejectionSchema, value: create(RejectionSchema, { reason, message }) },
  ]);
}
