import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { Content } from "../content.js";
import { PawlError, TooLarge, ValueRefused } from "../errors.js";
import { findJsonFault } from "./json-check.js";

/** Content type of everything that the SDK encodes itself. */
export const JSON_TYPE = "application/json";

/** Longest content in a message: the kernel's message bound with room for what is around it. */
export const CONTENT_BYTES_MAX = 4_000_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Encodes a value as a payload: JSON, or a `Content` as it is.
 *
 * @param what Name of the value for errors: the root of their path.
 * @returns undefined for `undefined`: absent is no payload.
 * @throws ValueRefused when the value would not come back as it is; TooLarge above the message bound.
 */
export function encodeValue(value: unknown, what: string): Payload | undefined {
  if (value === undefined) {
    return undefined;
  }
  if (value instanceof Content) {
    return makePayload(value.contentType, value.data, what);
  }
  return makePayload(JSON_TYPE, encoder.encode(jsonOf(value, what)), what);
}

function jsonOf(value: unknown, what: string): string {
  const fault = findJsonFault(value);
  if (fault !== undefined) {
    const path = what + fault.path.join("");
    throw new ValueRefused(
      path,
      `Expected ${path} to be JSON, but it is ${fault.found}. It would not come back as it is: convert it first.`,
    );
  }
  const text: string | undefined = JSON.stringify(value);
  if (text !== undefined) return text;
  throw new ValueRefused(
    what,
    `Expected ${what} to be JSON, but its toJSON gives nothing. Give the value itself.`,
  );
}

/** What is recorded of a value, and the value as a reader of the record has it. */
export interface Recorded {
  readonly payload: Payload;
  readonly value: unknown;
}

/** Encodes a value and gives it as it comes back: what code is given of its own does not depend on whether it is read again from records. */
export function recordOf(value: unknown, what: string): Recorded | undefined {
  if (value === undefined || value instanceof Content) {
    const payload = encodeValue(value, what);
    return payload && { payload, value: decodePayload(payload, what) };
  }
  const text = jsonOf(value, what);
  // From the host's pool: most records are short, and memory of its own for each costs more than all else of it.
  return { payload: makePayload(JSON_TYPE, Buffer.from(text), what), value: JSON.parse(text) };
}

/** As `encodeValue`, but `undefined` is sent as JSON null: for results, which must be there. */
export function encodeResult(value: unknown, what: string): Payload {
  return encodeValue(value, what) ?? makePayload(JSON_TYPE, encoder.encode("null"), what);
}

function makePayload(contentType: string, data: Uint8Array, what: string): Payload {
  if (data.length > CONTENT_BYTES_MAX) {
    throw new TooLarge(
      `Expected ${what} to be at most ${CONTENT_BYTES_MAX} bytes, but it has ${data.length}. ` +
        "Store it elsewhere and send where it is, with its hash.",
    );
  }
  return {
    $typeName: PayloadSchema.typeName,
    contentType,
    body: { case: "data", value: data },
    encoding: "",
  };
}

/**
 * The value of a payload whose content is at hand.
 *
 * @param what Name of the value for errors.
 * @returns undefined when there is no payload; a `Content` when it is not JSON.
 * @throws PawlError `PAWL_CONTENT_UNREADABLE` when the content cannot be read here.
 */
export function decodePayload(payload: Payload | undefined, what: string): unknown {
  if (payload === undefined) {
    return undefined;
  }
  if (payload.encoding !== "") {
    throw unreadable(
      what,
      `it is encoded by the client-side codec "${payload.encoding}", which is not installed here`,
    );
  }
  if (payload.body.case !== "data") {
    throw unreadable(what, "its content is stored apart and was not loaded");
  }
  if (!isJson(payload.contentType)) {
    return new Content(payload.contentType, payload.body.value);
  }
  try {
    const value: unknown = JSON.parse(decoder.decode(payload.body.value));
    return value;
  } catch (cause) {
    throw unreadable(what, "its bytes are not JSON in UTF-8", cause);
  }
}

function isJson(contentType: string): boolean {
  if (contentType === JSON_TYPE) return true;
  const essence = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  return essence === JSON_TYPE || essence.endsWith("+json");
}

function unreadable(what: string, why: string, cause?: unknown): PawlError {
  return new PawlError("PAWL_CONTENT_UNREADABLE", `Expected ${what} to be readable, but ${why}.`, {
    cause,
    retryable: false,
  });
}

/** Number of content bytes in a payload. */
export function payloadBytes(payload: Payload | undefined): number {
  return payload?.body.case === "data"
    ? payload.body.value.length + payload.contentType.length + 16
    : 64;
}
