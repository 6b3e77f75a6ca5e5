import { createHash } from "node:crypto";
import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { encodePayload } from "@pawl/proto/v1/payload_wire.js";

/** When the runs of the tests start, ms since the Unix epoch. */
export const START_MS = 1_750_000_000_000;

/** SHA-256 by Node, not by the code under test. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash("sha256").update(bytes).digest());
}

/** An encoded JSON payload. */
export function payload(value: unknown): Uint8Array {
  return encodePayload({
    contentType: "application/json",
    body: { case: "data", value: new TextEncoder().encode(JSON.stringify(value)) },
    encoding: "",
  });
}

/** A failure of a worker's code. */
export function failure(parts: Partial<FailureShape> = {}): FailureShape {
  return {
    kind: "Boom",
    code: "",
    message: "it broke",
    stack: "",
    retryable: true,
    origin: FailureOrigin.UNSPECIFIED,
    ...parts,
  };
}

/** 32 bytes that stand for a fingerprint. */
export function fingerprint(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte);
}

interface MailAction {
  readonly name: string;
  readonly scope: OperationScope;
  readonly target: string;
  readonly payload: Uint8Array;
  readonly fingerprint: Uint8Array;
}

/** What the operation `mail` of the tests is, however it comes about. */
export const mailAction: MailAction = {
  name: "mail",
  scope: OperationScope.TASK,
  target: "ann@example.org",
  payload: payload("dear Ann"),
  fingerprint: fingerprint(2),
};
