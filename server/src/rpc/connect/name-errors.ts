import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { errorFromJsonBytes, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { invalidField, type Rejection } from "../../core/rejection.js";
import { tooLarge } from "../refusals.js";
import { connectError } from "./connect-error.js";

/**
 * Gives the errors that Connect itself answers before any handler (a body it cannot parse, one above the bound) a reason of ours,
 * so that a program can tell them apart. Only whole answers are looked at: those of streams end inside their body.
 */
export async function nameErrors(
  response: UniversalServerResponse,
): Promise<UniversalServerResponse> {
  const { status, header, body } = response;
  const isPlainError =
    (status === 400 || status === 429 || status === 500) &&
    header !== undefined &&
    body !== undefined &&
    header.get("content-type") === "application/json" &&
    !header.has("content-encoding");
  if (!isPlainError) {
    return response;
  }
  const bytes = await collect(body);
  const error = errorFromJsonBytes(bytes, undefined, new ConnectError("", Code.Unknown));
  const rejection = error.details.length === 0 ? rejectionFor(error) : undefined;
  if (rejection === undefined) {
    return { ...response, body: once(bytes) };
  }
  const named = errorToJsonBytes(connectError(rejection), undefined);
  header.set("content-length", `${named.length}`);
  return { ...response, status: 400, body: once(named) };
}

/** How Connect words that a request's protobuf cannot be decoded. */
const unreadableBytes = /^parse binary: /;

function rejectionFor(error: ConnectError): Rejection | undefined {
  switch (error.code) {
    case Code.InvalidArgument:
      return invalidField("(message)", "a message of this method", error.rawMessage);
    case Code.ResourceExhausted:
      return tooLarge(undefined);
    case Code.Internal:
      // What cannot be read is the caller's, though Connect takes it for a fault of the server.
      return unreadableBytes.test(error.rawMessage)
        ? invalidField("(message)", "an encoded message of this method", error.rawMessage)
        : undefined;
    default:
      return undefined;
  }
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
