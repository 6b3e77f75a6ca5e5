import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import {
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { invalidField, type Rejection } from "../../core/rejection.js";
import { tooLarge } from "../refusals.js";
import { connectError } from "./connect-error.js";

/**
 * Gives the errors that Connect itself answers before any handler (a body it cannot parse, one above the bound) a reason of ours,
 * so that a program can tell them apart. Those of streams are told by the message that ends them.
 */
export async function nameErrors(
  response: UniversalServerResponse,
): Promise<UniversalServerResponse> {
  const { status, header, body } = response;
  if (body !== undefined && /^application\/connect\+/.test(header?.get("content-type") ?? "")) {
    return { ...response, body: nameEnds(body) };
  }
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
  const rejection = rejectionFor(error);
  if (rejection === undefined) {
    return { ...response, body: once(bytes) };
  }
  const named = errorToJsonBytes(connectError(rejection), undefined);
  header.set("content-length", `${named.length}`);
  return { ...response, status: 400, body: once(named) };
}

/** A stream whose last message says by name why it ended. Connect gives each message as one piece. */
async function* nameEnds(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const piece of body) {
    yield piece[0] === endStreamFlag ? nameEnd(Buffer.from(piece)) : piece;
  }
}

/** Bytes before the content of a message: its flags and its length. */
const envelopeHeadBytes = 5;

function nameEnd(piece: Buffer): Uint8Array {
  const isWhole =
    piece.length >= envelopeHeadBytes && piece.length === piece.readUInt32BE(1) + envelopeHeadBytes;
  const end = isWhole ? endStreamFromJson(piece.subarray(envelopeHeadBytes)) : undefined;
  const rejection = end?.error === undefined ? undefined : rejectionFor(end.error);
  if (end === undefined || rejection === undefined) {
    return piece;
  }
  const named = endStreamToJson(end.metadata, connectError(rejection), undefined);
  const content = Buffer.from(JSON.stringify(named));
  const head = Buffer.alloc(envelopeHeadBytes);
  head.writeUInt8(endStreamFlag, 0);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** How Connect words that a request's protobuf cannot be decoded. */
const unreadableBytes = /^(?:parse binary: |received compressed envelope)/;

/** Errors of ours have details already. */
function rejectionFor(error: ConnectError): Rejection | undefined {
  if (error.details.length > 0) {
    return undefined;
  }
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
