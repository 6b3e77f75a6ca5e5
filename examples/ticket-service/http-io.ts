import type { IncomingMessage, ServerResponse } from "node:http";
import { invalidField, TicketError } from "./ticket-error.js";
import { bounds } from "./wire.js";

/** One HTTP exchange, with its address already read. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

/**
 * Reads the JSON body. Throws 415 `TICKET_CONTENT_TYPE` unless it is declared `application/json`
 * (which also keeps web pages of other origins out: a browser asks first), 413
 * `TICKET_REQUEST_TOO_LARGE`, 400 `TICKET_REQUEST_INVALID`.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const contentType = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (contentType !== "application/json") {
    throw new TicketError(
      `expected Content-Type application/json, but it is ${contentType ?? "absent"}`,
      { code: "TICKET_CONTENT_TYPE", status: 415 },
    );
  }
  const bytes = await readBytes(request);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw invalidField("the body", "JSON in UTF-8", { cause });
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) throw new TypeError("expected the request to deliver bytes");
    byteCount += chunk.length;
    // An overlong body is read to its end but not kept, so that its sender can read the refusal.
    if (byteCount <= bounds.requestBytesMax) chunks.push(chunk);
  }
  if (byteCount > bounds.requestBytesMax) {
    throw new TicketError(
      `expected at most ${bounds.requestBytesMax} bytes, but the body has ${byteCount}`,
      {
        code: "TICKET_REQUEST_TOO_LARGE",
        status: 413,
        details: { bytesMax: bounds.requestBytesMax, bytes: byteCount },
      },
    );
  }
  return Buffer.concat(chunks);
}

/** Reads the Idempotency-Key, absent or 1 to 1,024 bytes of UTF-8. Throws 400 `TICKET_KEY_INVALID`. */
export function readIdempotencyKey(request: IncomingMessage): string | undefined {
  const values = request.headersDistinct["idempotency-key"];
  if (values === undefined) return undefined;
  const [value, second] = values;
  if (value === undefined || second !== undefined) throw keyInvalid("exactly one header");
  return checkKey(decodeHeader(value));
}

/** Checks a key's bounds. Throws 400 `TICKET_KEY_INVALID`. */
export function checkKey(key: string): string {
  const byteCount = Buffer.byteLength(key);
  if (byteCount < 1 || byteCount > bounds.keyBytesMax) {
    throw keyInvalid(`1 to ${bounds.keyBytesMax} bytes`);
  }
  return key;
}

/** Sends `value` as JSON. A client that has gone away is not an error. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(value)}\n`);
}

/** Node gives header bytes as Latin-1 characters; the key's bytes are UTF-8. */
function decodeHeader(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch (cause) {
    throw keyInvalid("UTF-8", cause);
  }
}

function keyInvalid(expected: string, cause?: unknown): TicketError {
  return new TicketError(
    `expected the key (Idempotency-Key or reference) to be ${expected}, but it is not`,
    { code: "TICKET_KEY_INVALID", status: 400, details: { field: "Idempotency-Key" }, cause },
  );
}
