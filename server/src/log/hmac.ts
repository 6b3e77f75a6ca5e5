import { SHA256_BYTES, sha256Into } from "./sha256.js";

const blockBytes = 64;

/**
 * HMAC-SHA-256 (RFC 2104) under one key. Made of the server's one hash function, whose one-shot form costs a quarter of what `createHmac`
 * does for the short messages that positions are.
 */
export class Hmac {
  readonly #inner: Uint8Array;
  readonly #outer: Uint8Array;

  /** @param key 1 to 64 bytes. */
  constructor(key: Uint8Array) {
    if (key.length === 0 || key.length > blockBytes) {
      throw new RangeError(`Expected a key of 1 to ${blockBytes} bytes, but it has ${key.length}.`);
    }
    this.#inner = new Uint8Array(blockBytes).fill(0x36);
    this.#outer = new Uint8Array(blockBytes + SHA256_BYTES).fill(0x5c, 0, blockBytes);
    for (const [index, byte] of key.entries()) {
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  /** The 32 bytes of the MAC. */
  sign(message: Uint8Array): Uint8Array {
    const inner = new Uint8Array(blockBytes + message.length);
    inner.set(this.#inner);
    inner.set(message, blockBytes);
    sha256Into(inner, this.#outer, blockBytes);
    const mac = new Uint8Array(SHA256_BYTES);
    sha256Into(this.#outer, mac, 0);
    return mac;
  }
}
