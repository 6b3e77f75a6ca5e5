import { hash } from "node:crypto";

/** Length of a SHA-256 hash, in bytes. */
export const SHA256_BYTES: number = 32;

/**
 * SHA-256 of the bytes, in an array of its own (never a view of a shared pool, which a kept hash would hold alive).
 *
 * The one-shot `crypto.hash` (Node 20.12) with a "binary" string costs a third of its own "buffer" form and a quarter
 * of `createHash`; each character of that string is one byte. This is the only hash function of the server.
 */
export function sha256(bytes: Uint8Array): Uint8Array {
  const target = new Uint8Array(SHA256_BYTES);
  sha256Into(bytes, target, 0);
  return target;
}

/** Writes the SHA-256 of the bytes into `target` from `offset` on; `target` must have room for 32 bytes. */
export function sha256Into(bytes: Uint8Array, target: Uint8Array, offset: number): void {
  if (offset < 0 || offset + SHA256_BYTES > target.length) {
    throw new RangeError(
      `Expected room for ${SHA256_BYTES} bytes at ${offset}, but the target has ${target.length} bytes.`,
    );
  }
  const characters = hash("sha256", bytes, "binary");
  for (let index = 0; index < SHA256_BYTES; index += 1) {
    target[offset + index] = characters.charCodeAt(index);
  }
}
