/**
 * SHA-256 as the pure core sees it: 32 bytes from any bytes, without side effects.
 *
 * The core may import no host module, so the function comes in like time and ids do (`ctx.sha256`).
 * The host's own is `@pawl/server/log/sha256.js`.
 */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;
