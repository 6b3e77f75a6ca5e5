import { Metadata, type StatusObject } from "@grpc/grpc-js";
import type { Rejection } from "../../core/rejection.js";
import { cutText } from "../rejection-shape.js";
import { codeByReason, encodeStatus } from "../rejection-status.js";
import { StatusError } from "../status-error.js";

/** Trailer in which gRPC carries a `google.rpc.Status`. */
export const statusDetailsKey = "grpc-status-details-bin";

/** The status that ends a gRPC call which was refused. */
export function grpcStatus(rejection: Rejection | StatusError): StatusObject {
  const metadata = new Metadata();
  if (rejection instanceof StatusError) {
    return { code: rejection.status, details: cutText(rejection.message), metadata };
  }
  metadata.set(statusDetailsKey, Buffer.from(encodeStatus(rejection)));
  // grpc-js percent-encodes the text, which throws for half a surrogate pair: cutText leaves none.
  return { code: codeByReason[rejection.reason], details: cutText(rejection.message), metadata };
}
