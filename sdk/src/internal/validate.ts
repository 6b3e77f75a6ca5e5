import { SchemaRefused } from "../errors.js";
import type { Schema, SchemaIssue, SchemaResult } from "../schema.js";

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
