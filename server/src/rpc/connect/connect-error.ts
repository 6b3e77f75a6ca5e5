import { Code, ConnectError } from "@connectrpc/connect";
import type { Rejection } from "../../core/rejection.js";
import { cutText } from "../rejection-shape.js";
import { codeByReason, detailsOf } from "../rejection-status.js";
import { StatusError } from "../status-error.js";

/** Codes of Connect by their numbers, which are those of gRPC. */
const codes: ReadonlyMap<number, Code> = new Map(
  Object.values(Code).flatMap((code) => (typeof code === "number" ? [[code, code] as const] : [])),
);

/** The error that ends a Connect call which was refused. */
export function connectError(rejection: Rejection | StatusError): ConnectError {
  if (rejection instanceof StatusError) {
    return new ConnectError(rejection.message, codes.get(rejection.status) ?? Code.Internal);
  }
  const code = codes.get(codeByReason[rejection.reason]) ?? Code.Internal;
  return new ConnectError(cutText(rejection.message), code, undefined, detailsOf(rejection));
}
