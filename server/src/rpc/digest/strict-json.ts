import { findInvalidUtf8 } from "../../core/identity/utf8.js";
import { type JsonRefusal, refuseJson } from "./json-refusal.js";
import { scanStrictJson } from "./strict-json-scanner.js";

/** A JSON value as `JSON.parse` builds it: plain data, in which a `__proto__` member is a member like any other. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** A document that was read, or why not. */
export type StrictJson =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly refusal: JsonRefusal };

/**
 * Reads JSON from bytes and refuses, by name and place, what `JSON.parse` accepts and readers understand differently:
 * duplicate keys, lone surrogates, integers beyond 2^53, numbers that overflow, and, besides syntax, invalid UTF-8 and
 * nesting beyond 100. Only a document that passes has a `json` digest.
 *
 * Integers are numbers without fraction and exponent; `9007199254740993.0` is a decimal and is read as its nearest
 * double, as RFC 8785 does. Numbers too small for a double are read as 0, and `-0` is 0.
 */
export function readStrictJson(bytes: Uint8Array): StrictJson {
  const invalid = findInvalidUtf8(bytes);
  if (invalid >= 0) {
    return { ok: false, refusal: refuseJson("invalid_utf8", invalid, [], "no UTF-8") };
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const refusal = scanStrictJson(text);
  if (refusal !== undefined) return { ok: false, refusal };
  const value: JsonValue = JSON.parse(text);
  return { ok: true, value };
}
