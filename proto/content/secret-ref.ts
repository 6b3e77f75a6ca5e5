/**
 * A reference to a credential: the only form in which one enters a payload. On the wire and in records it is a JSON object with exactly this
 * member, in every language.
 */
export interface SecretRefForm {
  /** `RESOLVER:NAME`, for example `vault:jira`. */
  readonly $secretRef: string;
}

/** 1 to 200 characters: a resolver's name in small letters, a colon, and what the resolver knows it by. */
const form = /^([a-z][a-z0-9-]{0,39}):([\x21-\x7e]{1,159})$/;

/** Takes the text of a reference apart; undefined when it is none. */
export function parseSecretRef(text: string): { resolver: string; name: string } | undefined {
  const [, resolver, name] = form.exec(text) ?? [];
  return resolver === undefined || name === undefined ? undefined : { resolver, name };
}

/** True for a decoded value that is a reference. */
export function isSecretRef(value: unknown): value is SecretRefForm {
  if (typeof value !== "object" || value === null || !("$secretRef" in value)) {
    return false;
  }
  const { $secretRef } = value;
  return (
    typeof $secretRef === "string" &&
    Object.keys(value).length === 1 &&
    parseSecretRef($secretRef) !== undefined
  );
}
