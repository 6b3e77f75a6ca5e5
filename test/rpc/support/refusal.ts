import type { Rejection } from "@pawl/proto/v1/rejection_pb.js";

/** How a call was refused, whichever protocol it came by. */
export class Refusal extends Error {
  /** Code by its gRPC name. */
  readonly code: string;
  /** Reason of `google.rpc.ErrorInfo`; undefined without one. */
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  readonly rejection: Rejection | undefined;
  /** Delay of `google.rpc.RetryInfo` in ms; undefined without one. */
  readonly retryAfterMs: number | undefined;

  constructor(parts: {
    readonly code: string;
    readonly message: string;
    readonly reason?: string | undefined;
    readonly domain?: string | undefined;
    readonly rejection?: Rejection | undefined;
    readonly retryAfterMs?: number | undefined;
  }) {
    super(`${parts.code} ${parts.reason ?? ""}: ${parts.message}`);
    this.name = "Refusal";
    this.code = parts.code;
    // Every refusal says what to do next: one that does not has the reason that no test expects.
    const isClear = parts.reason?.startsWith("PAWL_") !== true || / Next: /.test(parts.message);
    this.reason = isClear ? parts.reason : `${parts.reason} without "Next: "`;
    this.domain = parts.domain;
    this.rejection = parts.rejection;
    this.retryAfterMs = parts.retryAfterMs;
  }
}

/** What a test compares: code and reason. */
export function codeAndReason(error: unknown): string {
  return error instanceof Refusal ? `${error.code} ${error.reason}` : `no refusal: ${error}`;
}
