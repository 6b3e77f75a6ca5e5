/**
 * What the disk side can say no with. Each error has a stable `code`; the message says what was
 * expected, what was found, and what to do next.
 */

/** Every code that the log layer raises. */
export type StoreErrorCode =
  | "PAWL_STORE_FAILED"
  | "PAWL_STORE_CLOSED"
  | "PAWL_STORE_FENCED"
  | "PAWL_STORE_WRITE_INVALID"
  | "PAWL_STORE_DAMAGED"
  | "PAWL_STORE_ABSENT"
  | "PAWL_STORE_LOCKED"
  | "PAWL_STORE_NEWER"
  | "PAWL_STORE_FOREIGN"
  | "PAWL_KEY_INVALID";

/** The common part of all errors of the log layer. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";
  /** Stable and documented; compare this, never the message. */
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The first storage error of a handle, and the answer to every call after it. Whether the write that
 * met the error is on disk is **unknown**: a failed sync may have kept it, a failed append may have
 * taken later writes with it. Nothing is retried in the same handle; open the store again and let the
 * log say what happened.
 */
export class StoreFailed extends StoreError {
  override readonly name = "StoreFailed";
  readonly outcome = "unknown" as const;

  constructor(during: string, cause: unknown) {
    super(
      "PAWL_STORE_FAILED",
      `Expected the store to ${during}, but it failed (${reasonOf(cause)}). ` +
        "This handle serves nothing more; open the store again to learn what it kept.",
      { cause },
    );
  }
}

/** The handle was closed (or is closing); nothing was written. */
export class StoreClosed extends StoreError {
  override readonly name = "StoreClosed";

  constructor() {
    super(
      "PAWL_STORE_CLOSED",
      "Expected an open store, but this handle is closed. Open the store again.",
    );
  }
}

/** The writer's epoch is older than one this store has seen; nothing was written. */
export class StoreFenced extends StoreError {
  override readonly name = "StoreFenced";
  readonly epoch: number;
  readonly currentEpoch: number;

  constructor(epoch: number, currentEpoch: number) {
    super(
      "PAWL_STORE_FENCED",
      `Expected epoch ${currentEpoch} or later, but the write carries epoch ${epoch}. ` +
        "Another life of this store has begun; stop this kernel.",
    );
    this.epoch = epoch;
    this.currentEpoch = currentEpoch;
  }
}

/** A write that breaks the port's rules (order, size of a range delete); nothing was written. */
export class StoreWriteInvalid extends StoreError {
  override readonly name = "StoreWriteInvalid";

  constructor(message: string) {
    super("PAWL_STORE_WRITE_INVALID", message);
  }
}

/** Where damage was found. All parts that are known are given. */
export interface DamagePlace {
  /** The first sequence that cannot be trusted. */
  readonly firstBadSequence?: number;
  /** The key of the bad row, in hex. */
  readonly key?: string;
  /** The bad file, relative to the data folder. */
  readonly file?: string;
}

/** What is stored is not what was written. It is refused, never served and never repaired silently. */
export class StoreDamaged extends StoreError {
  override readonly name = "StoreDamaged";
  readonly firstBadSequence: number | undefined;
  readonly key: string | undefined;
  readonly file: string | undefined;

  constructor(found: string, place: DamagePlace = {}, options?: ErrorOptions) {
    super(
      "PAWL_STORE_DAMAGED",
      `${found}${describePlace(place)} Nothing was changed. ` +
        "Keep a copy of the data folder, run `pawl verify` on it, and restore from a backup.",
      options,
    );
    this.firstBadSequence = place.firstBadSequence;
    this.key = place.key;
    this.file = place.file;
  }
}

/** A number or string that does not fit its field of a key. Nothing was read or written. */
export class KeyInvalid extends StoreError {
  override readonly name = "KeyInvalid";

  constructor(message: string) {
    super("PAWL_KEY_INVALID", message);
  }
}

/** The short reason of an unknown error: its deepest cause says most (level wraps the LevelDB status). */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error
    ? `${cause.message}: ${reasonOf(cause.cause)}`
    : cause.message;
}

/** The `code` of a system or level error, looked for along the chain of causes. */
export function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string") codes.push(at.code);
  }
  return codes;
}

/** The damage that an error reports or was caused by, if any. */
export function damageIn(error: unknown): StoreDamaged | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof StoreDamaged) return at;
  }
  return undefined;
}

function describePlace(place: DamagePlace): string {
  const parts: string[] = [];
  if (place.firstBadSequence !== undefined) {
    parts.push(`first bad sequence ${place.firstBadSequence}`);
  }
  if (place.key !== undefined) parts.push(`key ${place.key}`);
  if (place.file !== undefined) parts.push(`file ${place.file}`);
  return parts.length === 0 ? "." : ` (${parts.join(", ")}).`;
}
