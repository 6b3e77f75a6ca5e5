import { isSecretRef, parseSecretRef, type SecretRefForm } from "@pawl/proto/content/secret-ref.js";
import { DefinitionInvalid, PawlError } from "./errors.js";

/** A reference to a credential: what stands in content in its place. Recorded as it is, in every language: `{ "$secretRef": "vault:jira" }`. */
export type SecretRef = SecretRefForm;

/** How long a credential is wanted. */
export interface SecretResolverOptions {
  /** Aborted when nobody waits for it any more: the call's time is over, or the attempt or step has ended. */
  readonly signal: AbortSignal;
}

/** Looks a credential up by the name that stands behind the colon. May be asked again at any time. */
export type SecretResolver = (
  name: string,
  options: SecretResolverOptions,
) => string | Promise<string>;

/** Who knows which credentials, by the name that stands before the colon. */
export type SecretResolvers = Readonly<Record<string, SecretResolver>>;

/**
 * Refers to a credential. The only form in which one enters content: the reference is recorded, and a worker looks it up when it makes the call (`op.secret`, `scope.secret`).
 *
 * @param reference `RESOLVER:NAME`, for example `vault:jira`: 1 to 40 small letters, digits and hyphens, a colon, 1 to 159 printable ASCII characters.
 * @throws DefinitionInvalid
 */
export function secretRef(reference: string): SecretRef {
  if (parseSecretRef(reference) === undefined) {
    throw new DefinitionInvalid(
      'Expected a reference to a credential, such as "vault:jira", but it is none. Write who knows it, a colon, and what it is known by.',
    );
  }
  return Object.freeze({ $secretRef: reference });
}

/** A credential that was looked up. Whatever shows it shows its reference: text, JSON, the console. It cannot be recorded. */
export class Secret {
  /** The reference, for example `vault:jira`. */
  readonly reference: string;
  readonly #value: string;

  /** @param value never shown by anything but `reveal`. */
  constructor(reference: string, value: string) {
    this.reference = reference;
    this.#value = value;
    // As a declared method it would need a computed name, which declarations cannot hold.
    const custom = Symbol.for("nodejs.util.inspect.custom");
    Object.defineProperty(this, custom, { value: () => this.toString() });
  }

  /** The credential itself. Give it to the sink, and to nothing else. */
  reveal(): string {
    return this.#value;
  }

  /** `[secret vault:jira]`. */
  toString(): string {
    return `[secret ${this.reference}]`;
  }

  /** The same. */
  toJSON(): string {
    return this.toString();
  }
}

/** A credential could not be looked up. Names the reference. */
export class SecretUnresolved extends PawlError {
  /** The reference, for example `vault:jira`. */
  readonly reference: string;

  /** @param why what is wrong, and what to do. */
  constructor(why: string, { reference, cause, retryable }: SecretUnresolvedOptions) {
    const message = `Expected secret "${reference}" to be known, but ${why}`;
    super("PAWL_SECRET_UNRESOLVED", message, { cause, retryable });
    this.reference = reference;
  }
}

/** What is known of a credential that could not be looked up. */
export interface SecretUnresolvedOptions {
  readonly reference: string;
  readonly cause?: unknown;
  /** False: it will not be known the next time either. */
  readonly retryable: boolean;
}

export { isSecretRef };
