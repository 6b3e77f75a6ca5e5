import { RejectionError } from "../kernel/outcome.js";
import { sha256 } from "../log/sha256.js";
import { invalidPageToken } from "./refusals.js";

/** Bytes of the filter's hash that a token carries: enough to tell filters apart, which is no secret. */
const filterHashBytes = 8;

/** Tokens of lists inside one run: they say only where to go on, so they survive restarts. */
export function writePageToken(filter: readonly string[], offset: number): string {
  const token = Buffer.alloc(filterHashBytes + 4);
  hashFilter(filter).copy(token);
  token.writeUInt32BE(offset, filterHashBytes);
  return token.toString("base64url");
}

/**
 * Where a list goes on: 0 for an empty token.
 *
 * @throws RejectionError PAWL_INVALID_PAGE_TOKEN for one that was not given for this filter.
 */
export function readPageToken(filter: readonly string[], token: string): number {
  if (token === "") {
    return 0;
  }
  const bytes = Buffer.from(token, "base64url");
  const isOurs =
    bytes.length === filterHashBytes + 4 &&
    bytes.toString("base64url") === token &&
    bytes.subarray(0, filterHashBytes).equals(hashFilter(filter));
  if (!isOurs) {
    throw new RejectionError(invalidPageToken());
  }
  return bytes.readUInt32BE(filterHashBytes);
}

function hashFilter(filter: readonly string[]): Buffer {
  return Buffer.from(sha256(Buffer.from(JSON.stringify(filter)))).subarray(0, filterHashBytes);
}
