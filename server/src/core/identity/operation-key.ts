import { toHex } from "./hex.js";
import { IdentityError } from "./identity-error.js";
import type { Sha256 } from "./sha256.js";
import { encodeUtf8, findLoneSurrogate } from "./utf8.js";

/** What makes an operation of a task, or of a whole run, the one that it is. */
interface RunBoundIdentity {
  /** Namespace of the run. */
  readonly namespace: string;
  /** Id of the run, chosen by its caller. */
  readonly runId: string;
  /** Which execution under that run id, from 1. */
  readonly incarnation: number;
  /** Name of the operation. */
  readonly operation: string;
  /**
   * Plan version in which the task's present specification first appeared, from 1. Not the run's present version:
   * revising another task must not change the key of an effect in flight.
   */
  readonly planVersion: number;
  /** The caller's `key`, which tells calls in a loop apart. Absent and empty are two different keys. */
  readonly discriminator?: string | undefined;
}

/** An operation that is unique in its task: the default. */
export interface TaskScopeIdentity extends RunBoundIdentity {
  readonly scope: "task";
  /** Name of the task; for a nested one the whole path. */
  readonly task: string;
}

/** An operation that is unique in its run, whichever task performs it. */
export interface RunScopeIdentity extends RunBoundIdentity {
  readonly scope: "run";
}

/** An operation that is unique in its namespace, across runs: the caller's business key is its identity. */
export interface NamespaceScopeIdentity {
  readonly scope: "namespace";
  readonly namespace: string;
  readonly operation: string;
  /** The caller's durable business key, for example `invoice-4711`. */
  readonly discriminator: string;
}

/** All that identifies an operation. Attempt, lease, worker and generation are never part of it. */
export type OperationIdentity = TaskScopeIdentity | RunScopeIdentity | NamespaceScopeIdentity;

/** The two forms in which an operation's identity is handed to a sink. */
export interface OperationKey {
  /** Readable form: 1 to 255 ASCII characters. */
  readonly key: string;
  /** The same identity for sinks that take only UUIDs (RFC 9562, version 8), lower case. */
  readonly uuid: string;
}

/** Greatest length of a readable key, in characters (all of them ASCII). */
export const OPERATION_KEY_LENGTH_MAX: number = 255;

/** Ends the readable part of a key that was cut. It occurs in no full form, so no cut key equals an uncut one. */
const CUT_MARK = ":";

/** Bytes of the full form's SHA-256 that close a cut key. */
const CUT_HASH_BYTES = 16;

/**
 * Builds the key of an operation from its full form: the full form itself when it has at most 255 characters,
 * otherwise its beginning (never ending inside a percent triple), `:` and 128 bits of its SHA-256 in lower-case hex.
 * The UUID is made of the same SHA-256 of the full form, whatever the length.
 *
 * Injective: different identities have different full forms, and different full forms have different keys unless
 * they are longer than 255 characters and agree in 128 bits of SHA-256.
 *
 * @throws IdentityError when a text is ill-formed or a number is not a whole one from 1.
 */
export function buildOperationKey(identity: OperationIdentity, sha256: Sha256): OperationKey {
  const fullForm = formatOperationIdentity(identity);
  const hash = sha256(encodeUtf8(fullForm));
  return { key: shorten(fullForm, hash), uuid: formatUuid(hash) };
}

/**
 * The full form of an identity: scope, namespace, then what the scope has of run id, incarnation and task, then
 * operation, plan version and discriminator, each percent-escaped, joined by `/`:
 *
 *     task/<namespace>/<run id>/<incarnation>/<task>/<operation>/<plan version>[/<discriminator>]
 *     run/<namespace>/<run id>/<incarnation>/<operation>/<plan version>[/<discriminator>]
 *     namespace/<namespace>/<operation>/<discriminator>
 *
 * An escaped field holds no `/`, the first field says how many follow, and an absent discriminator leaves its `/`
 * away as well: so no two identities share a full form.
 *
 * @throws IdentityError when a text is ill-formed or a number is not a whole one from 1.
 */
export function formatOperationIdentity(identity: OperationIdentity): string {
  const fields = [identity.scope, escapeField("namespace", identity.namespace)];
  if (identity.scope !== "namespace") {
    fields.push(escapeField("run_id", identity.runId));
    fields.push(formatCount("incarnation", identity.incarnation));
  }
  if (identity.scope === "task") fields.push(escapeField("task", identity.task));
  fields.push(escapeField("operation", identity.operation));
  if (identity.scope !== "namespace") {
    fields.push(formatCount("plan_version", identity.planVersion));
  }
  if (identity.discriminator !== undefined) {
    fields.push(escapeField("discriminator", identity.discriminator));
  }
  return fields.join("/");
}

/**
 * Percent-escapes a field: the unreserved characters of RFC 3986 (`A-Z a-z 0-9 - . _ ~`) stay, every other byte of
 * the UTF-8 form becomes `%XX` with upper-case digits. `decodeURIComponent` undoes it.
 *
 * @param field What the text is, for the error.
 * @throws IdentityError when the text holds a lone surrogate.
 */
export function escapeField(field: string, text: string): string {
  const lone = findLoneSurrogate(text);
  if (lone >= 0) {
    throw new IdentityError(field, "well-formed Unicode", `ill-formed at character ${lone}`);
  }
  // encodeURIComponent keeps five reserved characters; all its other output is as described above.
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function formatCount(field: string, value: number): string {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new IdentityError(field, "a whole number from 1 to 2^53 - 1", String(value));
  }
  return String(value);
}

function shorten(fullForm: string, hash: Uint8Array): string {
  if (fullForm.length <= OPERATION_KEY_LENGTH_MAX) return fullForm;
  const closing = CUT_MARK + toHex(hash, CUT_HASH_BYTES);
  const beginning = fullForm.slice(0, OPERATION_KEY_LENGTH_MAX - closing.length);
  return beginning.replace(/%[0-9A-F]?$/, "") + closing;
}

/** RFC 9562, 5.8: 122 bits are the hash's, version 8 and the variant stand in the places fixed for them. */
function formatUuid(hash: Uint8Array): string {
  const bytes = hash.slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = toHex(bytes);
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ];
  return groups.join("-");
}
