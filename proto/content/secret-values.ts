/** Words at the end of a field's name, as `nameOf` writes it, that say that its value is chosen by a person. */
const passwords = ["password", "passwd", "pwd", "passphrase", "pass"];

/** Words that say that its value was drawn. */
const keys = [
  ...["secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "signingkey"],
  ...["encryptionkey", "authkey", "credential", "credentials", "authorization", "secretaccesskey"],
];

/** Tokens that grant nothing: places in lists, and names that callers give to their requests. */
const harmless =
  /(?:page|next|sync|continuation|idempotency|request|cancellation|csrf|cursor|position)token$/;

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** What stands where a secret would stand. */
const placeholder =
  /^(?:[*x.•_-]+|\$\{.*|\{\{.*|<.*|\[.*|%.*%|(?:vault|env|file|secret|ref|arn|https?|sops|op):.*|(?:your|my|change|example|dummy|test|fake|placeholder|redacted|none|null|undefined|true|false|required|optional|string|hidden|masked).*)$/i;

/** A name without what separates its words, in small letters. */
function nameOf(field: string): string {
  return field.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

/** True when a value in a field of this name is a secret: the name says so, and the value is as random as one. */
export function isSecretOfName(field: string, value: string): boolean {
  if (field.length > 100 || value.length < 8 || value.length > 8_192 || /\s/.test(value.trim())) {
    return isHeader(field, value);
  }
  const name = nameOf(field);
  if (harmless.test(name) || !isNoPlaceholder(value)) {
    return false;
  }
  if (passwords.some((ending) => name.endsWith(ending))) {
    return /[^a-z]/.test(value) && entropyOf(value) >= 2.5;
  }
  const word = keys.find((key) => name.endsWith(key));
  if (word === undefined || (word === "token" && uuid.test(value))) {
    return false;
  }
  return value.length >= 16 && isRandomText(value, 3);
}

/** `Authorization: Basic …` has a space in it. */
function isHeader(field: string, value: string): boolean {
  return (
    nameOf(field).endsWith("authorization") &&
    value.length <= 8_192 &&
    /^(?:bearer|basic|token|digest|apikey)\s+\S{8,}$/i.test(value.trim()) &&
    isNoPlaceholder(value.trim().split(/\s+/)[1] ?? "")
  );
}

/** True for a text that is not visibly put in the place of a secret. */
export function isNoPlaceholder(value: string): boolean {
  return !placeholder.test(value);
}

/** True for a text that was drawn rather than written: with digits, or letters of both cases, and without much repetition. */
export function isRandomText(value: string, bitsMin: number): boolean {
  const isMixed = /[0-9]/.test(value) || (/[a-z]/.test(value) && /[A-Z]/.test(value));
  return isMixed && isNoPlaceholder(value) && entropyOf(value) >= bitsMin;
}

/** Shannon's entropy of a text's characters, in bits each. */
function entropyOf(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) {
    counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  let bits = 0;
  for (const count of counts.values()) {
    const share = count / value.length;
    bits -= share * Math.log2(share);
  }
  return bits;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** True when base64 holds what `Basic` does: a name, a colon and a password, all of them printable. */
export function isUserAndPassword(base64: string): boolean {
  let bits = 0;
  let held = 0;
  let text = "";
  for (const character of base64.replace(/=+$/, "")) {
    bits = ((bits << 6) | alphabet.indexOf(character)) & 0xffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      text += String.fromCharCode((bits >> held) & 0xff);
    }
  }
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(text);
}
