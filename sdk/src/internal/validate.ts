import { SchemaRefused } from "../errors.js";
import type { Schema, SchemaIssue, SchemaResult } from "../schema.js";
import { quiet } from "./quiet.js";

/** Most issues that an error names. */
const ISSUES_MAX = 8;

/**
 * Has a schema check a value. Synchronous when the schema is: the hot path then waits for no microtask.
 *
 * @param what Name of the value for the error.
 * @param retryable Whether trying again may help.
 * @throws SchemaRefused (or rejects with it).
 */
export function validate<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
  what: string,
  retryable: boolean,
): Output | Promise<Output> {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise
    ? result.then((settled) => unwrap(settled, what, retryable))
    : unwrap(result, what, retryable);
}

/**
 * Makes something of what a schema gives: at once when it answers at once, so that whatever becomes of the value meanwhile changes nothing of it.
 *
 * @param checked What `validate` gave.
 */
export function fromValid<Output, Made>(
  checked: Output | Promise<Output>,
  make: (checked: Output) => Made,
): Made | Promise<Made> {
  return checked instanceof Promise ? checked.then(make) : make(checked);
}

/**
 * Checks a value that is sent as it is: whoever takes it transforms, so that every language sends the same.
 *
 * @returns What rejects when the schema, which takes its time, refuses; undefined when it is checked.
 * @throws SchemaRefused
 */
export function check(
  schema: Schema<unknown, unknown> | undefined,
  value: unknown,
  what: string,
): Promise<unknown> | undefined {
  if (schema === undefined) return undefined;
  const checked = validate(schema, value, what, false);
  return checked instanceof Promise ? quiet(checked) : undefined;
}

function unwrap<Output>(result: SchemaResult<Output>, what: string, retryable: boolean): Output {
  if (result.issues === undefined) {
    return result.value;
  }
  const shown = result.issues.slice(0, ISSUES_MAX).map((issue) => describe(issue, what));
  const more = result.issues.length - shown.length;
  throw new SchemaRefused(what, more > 0 ? [...shown, `${more} more`] : shown, { retryable });
}

function describe(issue: SchemaIssue, what: string): string {
  let path = what;
  for (const segment of issue.path ?? []) {
    const key = typeof segment === "object" ? segment.key : segment;
    path += typeof key === "number" ? `[${key}]` : `.${String(key)}`;
  }
  return `${path}: ${issue.message}`;
}
