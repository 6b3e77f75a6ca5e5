import { invalidField } from "../../core/rejection.js";
import { sha256 } from "../../log/sha256.js";
import { RejectionError } from "../outcome.js";

const version = 1;
const filterBytes = 8;
const headBytes = 1 + filterBytes;

/**
 * A page token: the place of the last item, bound to the list and its filter. It names nothing that lives in memory, so it outlives a
 * restart.
 * @param place bytes by which the list is ordered.
 */
export function writeToken(filter: readonly string[], place: Uint8Array): string {
  const bytes = Buffer.alloc(headBytes + place.length);
  bytes[0] = version;
  bytes.set(digestOf(filter), 1);
  bytes.set(place, headBytes);
  return bytes.toString("base64url");
}

/**
 * The place in a token; undefined for the empty one, which asks for the first page.
 * @param placeBytes length of this list's places.
 * @throws RejectionError PAWL_INVALID_PAGE_TOKEN for any text that this list did not give for this filter.
 */
export function readToken(
  filter: readonly string[],
  token: string,
  placeBytes: number,
): Uint8Array | undefined {
  if (token === "") {
    return undefined;
  }
  const bytes = Buffer.from(token, "base64url");
  const isOurs =
    bytes.length === headBytes + placeBytes &&
    bytes[0] === version &&
    bytes.subarray(1, headBytes).equals(digestOf(filter)) &&
    bytes.toString("base64url") === token;
  if (!isOurs) {
    throw new RejectionError({
      ...invalidField(
        "page_token",
        "empty, or a token that this list gave for the same filter",
        "another text",
      ),
      reason: "PAWL_INVALID_PAGE_TOKEN",
    });
  }
  return new Uint8Array(bytes.subarray(headBytes));
}

function digestOf(filter: readonly string[]): Uint8Array {
  return sha256(Buffer.from(JSON.stringify(filter), "utf8")).subarray(0, filterBytes);
}
