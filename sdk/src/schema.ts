import type { JsonOnly } from "./rec.js";

/** One thing that a schema found wrong, as Standard Schema has it. */
export interface SchemaIssue {
  /** What is wrong. */
  readonly message: string;
  /** Where, from the root. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a schema says of a value, as Standard Schema has it. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/**
 * Any validator that speaks Standard Schema (https://standardschema.dev), version 1: Zod, Valibot, ArkType and others.
 * Only the interface is needed; Pawl depends on none of them.
 */
export interface Schema<Input = unknown, Output = Input> {
  /** The Standard Schema properties. */
  readonly "~standard": {
    /** Version of the standard. */
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    /** Checks, and may transform, a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Types only: no value at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a schema accepts. */
export type SchemaInput<S> = S extends Schema<infer Input, unknown> ? Input : never;

/** What a schema gives. */
export type SchemaOutput<S> = S extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : never
  : never;

/**
 * A type without a check at run time: `json<{ order: string }>()`. For values whose shape the caller already trusts.
 * Only JSON is admitted.
 */
export function json<T>(..._problem: JsonOnly<T>): Schema<T, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "pawl",
      // The type argument is the caller's word; nothing here could check it.
      validate: (value) => ({ value: value as T }),
    },
  };
}
