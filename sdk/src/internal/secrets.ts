import { isSecretRef, parseSecretRef, type SecretRefForm } from "@pawl/proto/content/secret-ref.js";
import { DefinitionInvalid } from "../errors.js";
import { Secret, type SecretResolvers, SecretUnresolved } from "../secret.js";

/** Looks credentials up. Nothing is kept: each look-up asks its resolver. */
export class Secrets {
  readonly #resolvers: SecretResolvers;

  constructor(resolvers: SecretResolvers = {}) {
    this.#resolvers = resolvers;
  }

  /**
   * The credential that a reference names.
   *
   * @param signal aborted when nobody waits for it any more; its resolver is given it.
   * @throws SecretUnresolved (as a rejection) when nobody knows it here, or who should does not; DefinitionInvalid for what is no reference.
   */
  async resolve(ref: SecretRefForm, signal: AbortSignal): Promise<Secret> {
    if (!isSecretRef(ref)) {
      throw new DefinitionInvalid(
        'Expected a reference to a credential, such as secretRef("vault:jira"), but it is none. Give the one of the content.',
      );
    }
    const { $secretRef: reference } = ref;
    const { resolver = "", name = "" } = parseSecretRef(reference) ?? {};
    if (!Object.hasOwn(this.#resolvers, resolver)) {
      throw new SecretUnresolved(
        `this worker has no resolver "${resolver}". Give it one: secrets: { ${resolver}: async (name) => … }.`,
        { reference, retryable: false },
      );
    }
    let value: unknown;
    try {
      value = await this.#resolvers[resolver]?.(name, { signal });
    } catch (cause) {
      const why = `resolver "${resolver}" failed. See the cause.`;
      throw new SecretUnresolved(why, { reference, cause, retryable: true });
    }
    if (typeof value !== "string" || value === "") {
      const why = `resolver "${resolver}" gave no text. It must give the credential, or throw.`;
      throw new SecretUnresolved(why, { reference, retryable: false });
    }
    return new Secret(reference, value);
  }

  /** What code is given to look credentials up while a signal is not aborted. */
  under(signal: AbortSignal): (ref: SecretRefForm) => Promise<Secret> {
    return (ref) => this.resolve(ref, signal);
  }
}

/** Every reference in decoded content, each once. */
export function secretRefsIn(
  value: unknown,
  found: Map<string, SecretRefForm> = new Map(),
): SecretRefForm[] {
  if (isSecretRef(value)) {
    found.set(value.$secretRef, value);
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    for (const member of Object.values(value)) secretRefsIn(member, found);
  }
  return [...found.values()];
}

/** For code that is given no resolvers: every reference is unresolved. */
export const noSecrets: Secrets = new Secrets();
