import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * A token: `pawl_`, the id of its entry in the token file (12 hexadecimal digits, no secret), `_`, and 32 random bytes in base64url.
 * The prefix lets scanners find tokens that leaked.
 */
export interface Token {
  readonly id: string;
  readonly secret: string;
}

const pattern = /^pawl_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

/** Makes the id of an entry. */
export function makeEntryId(): string {
  return randomBytes(6).toString("hex");
}

/** Makes a secret. */
export function makeSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** The token as a caller sends it. */
export function formatToken({ id, secret }: Token): string {
  return `pawl_${id}_${secret}`;
}

/** Takes a token apart; undefined for any other text. */
export function parseToken(text: string): Token | undefined {
  const [, id, secret] = pattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/**
 * What the token file keeps of a secret: its SHA-256. A slow hash protects what people make up; nobody guesses 256 random bits, and
 * a hash that costs 50 ms would let anyone who sends wrong tokens stop the kernel.
 */
export function hashSecret(secret: string): Buffer {
  return createHash("sha256").update("pawl.token.v1\0").update(secret).digest();
}

/** True when a secret has this hash; takes as long whether or not. */
export function matchesSecret(secret: string, hash: Uint8Array): boolean {
  return timingSafeEqual(hashSecret(secret), hash);
}
