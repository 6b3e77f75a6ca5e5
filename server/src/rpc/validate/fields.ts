import { type DurationParts, durationMs, showDuration } from "../../core/duration.js";
import { findLoneSurrogate, utf8ByteLength } from "../../core/identity/utf8.js";
import { checkId, type IdKind } from "../../core/identity/well-formed-id.js";
import { limits } from "../../core/limits.js";
import { defaultNamespace } from "../../kernel/namespaces.js";
import { badField } from "../refusals.js";

/**
 * Checks of single fields. Each throws a RejectionError `PAWL_INVALID_FIELD` that names the field's path and its bound;
 * throwing is for the rare case, so that the usual one makes nothing.
 */

/** An identifying text: well-formed, without NUL, 1 to 200 bytes (a target: 0 to 1,024). */
export function requireId(kind: IdKind, value: string, field: string): void {
  const problem = checkId(kind, value, field);
  if (problem !== undefined) {
    throw badField(problem.field, problem.expected, problem.actual);
  }
}

/** The namespace of a request: empty means `default`. That it exists, and that the caller may act in it, the gate has seen to. */
export function readNamespace(value: string): string {
  if (value === "" || value === defaultNamespace) {
    return defaultNamespace;
  }
  requireId("namespace", value, "namespace");
  return value;
}

/** Bounds of a text, in bytes of UTF-8. */
export interface TextBounds {
  readonly min: number;
  readonly max: number;
}

/** A text for people: well-formed, within its bounds. */
export function requireText(value: string, field: string, { min, max }: TextBounds): void {
  const bytes = utf8ByteLength(value);
  if (bytes < min || bytes > max) {
    throw badField(
      field,
      `${min} to ${max} bytes of UTF-8`,
      bytes === 0 ? "empty" : `${bytes} bytes`,
    );
  }
  const lone = findLoneSurrogate(value);
  if (lone >= 0) {
    throw badField(
      field,
      "well-formed Unicode",
      `a text with a lone surrogate at character ${lone}`,
    );
  }
}

/** A reason that a person gave. */
export function requireReason(value: string, field: string, min: 0 | 1 = 0): void {
  requireText(value, field, { min, max: limits.reasonBytesMax });
}

/** Id that a caller made of a thing of its own: well-formed, without NUL, 1 to so many bytes. */
export function requireOwnId(value: string, field: string, max: number): void {
  requireText(value, field, { min: 1, max });
  const nul = value.indexOf("\0");
  if (nul >= 0) {
    throw badField(field, "text without NUL", `a text with NUL at character ${nul}`);
  }
}

/** Id of a call of a sink. */
export function requireIntentId(value: string, field: string): void {
  requireOwnId(value, field, limits.intentIdBytesMax);
}

/** Id of a worker session. */
export function requireSessionId(value: string, field: string): void {
  requireOwnId(value, field, limits.idBytesMax);
}

/** The number of items of a batch. */
export function requireCount(count: number, field: string, max: number): void {
  if (count < 1 || count > max) {
    throw badField(field, `1 to ${max} items`, `${count}`);
  }
}

/** A number that must lie between bounds, both included. */
export function requireNumber(value: number, field: string, { min, max }: TextBounds): void {
  // A comparison with NaN is false, so NaN is refused as well.
  if (!(value >= min && value <= max)) {
    throw badField(field, `${min} to ${max}`, `${value}`);
  }
}

/** Bytes of a fixed length, such as a hash. */
export function requireLength(value: Uint8Array, field: string, bytes: number): void {
  if (value.length !== bytes) {
    throw badField(field, `${bytes} bytes`, `${value.length} bytes`);
  }
}

/** A value of an enum that this version names. `values` is the generated object; UNSPECIFIED passes if it is allowed. */
export function requireKnown(
  value: number,
  field: string,
  values: Readonly<Record<string, number>>,
): void {
  const names = Object.keys(values);
  if (!names.some((name) => values[name] === value)) {
    throw badField(
      field,
      `one of ${names.slice(1).join(", ")}`,
      `${value}, which this version does not know`,
    );
  }
}

/** A message that must be there. */
export function requirePresent<T>(value: T | undefined, field: string): T {
  if (value === undefined) {
    throw badField(field, "set", "absent");
  }
  return value;
}

/** A length of time in ms, rounded up so that nothing comes early; absent: 0. */
export function readDurationMs(
  value: DurationParts | undefined,
  field: string,
  max: number,
): number {
  if (value === undefined) {
    return 0;
  }
  const ms = durationMs(value);
  if (!(ms >= 0 && ms <= max)) {
    throw badField(field, `0 ms to ${max} ms`, showDuration(value));
  }
  return ms;
}

/** Most items of a page. */
const pageSizeMax = 1000;

/** Size of a page: default 50. */
export function readPageSize(value: number): number {
  if (value > pageSizeMax) {
    throw badField("page_size", `at most ${pageSizeMax}`, `${value}`);
  }
  return value === 0 ? 50 : value;
}
