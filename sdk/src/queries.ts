import { checkId } from "./internal/ids.js";
import type { Schema } from "./schema.js";

/** What a run publishes under a name, with its type. */
export interface Query<T = unknown> {
  /** Always `query`. */
  readonly type: "query";
  /** Name under which it is published. */
  readonly name: string;
  /** Checks what is published. */
  readonly schema: Schema<unknown, unknown>;
  /** Types only: no value at run time. */
  readonly types?: { readonly value: T };
}

/**
 * Declares what a run publishes under a name, for its code and for whoever asks.
 *
 * @param name 1 to 200 bytes.
 * @param schema Checks, and may transform, what is published; it must not be asynchronous. `json<T>()` for a type alone.
 * @throws DefinitionInvalid
 */
export function query<T>(name: string, schema: Schema<T, T>): Query<T> {
  return { type: "query", name: checkId(name, "the name of a query"), schema };
}

/** How a value was published. */
export interface PublishedInfo {
  /** Name. */
  readonly name: string;
  /** How often this incarnation of the run has published under the name. */
  readonly version: number;
  /** When, by the kernel's clock. */
  readonly publishedAt: Date;
  /** Task whose code published it. */
  readonly task: string;
  /** Attempt that did. */
  readonly attempt: number;
  /** Which execution under the run id. */
  readonly incarnation: number;
  /** Size of the value, encoded, in bytes. */
  readonly valueBytes: number;
}

/** What a run published last under a name. */
export interface Published<T> extends PublishedInfo {
  /** The value, decoded. */
  readonly value: T;
}
