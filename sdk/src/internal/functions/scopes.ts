import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";

/** The kernel's own bound of a name, in bytes. */
const NAME_BYTES_MAX = 200;
/** What is kept of a name that is too long; the rest stands in its hash. */
const KEPT_BYTES = 160;

/** Names around the code that runs now: those of the maps it is in, each with the key of its item. */
export interface Scope {
  /** The attempt it belongs to. */
  readonly attempt: object;
  readonly path: string;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs code under one more name and key. */
export function inScope<T>(attempt: object, path: string, run: () => T): T {
  return scopes.run({ attempt, path }, run);
}

/** The path of names and keys around the code of this attempt that runs now; empty at its top. */
export function scopeOf(attempt: object): string {
  const scope = scopes.getStore();
  return scope?.attempt === attempt ? scope.path : "";
}

/** The path of an item of a map. */
export function itemPath(outer: string, map: string, key: string): string {
  const own = `${escapePart(map)}/${escapePart(key)}`;
  return outer === "" ? own : `${outer}/${own}`;
}

/** A name as it is recorded: under the path around it. One that is too long is cut, and closed with a hash of the whole. */
export function scopedName(path: string, name: string): string {
  if (path === "") {
    return name;
  }
  const whole = `${path}/${escapePart(name)}`;
  const bytes = Buffer.from(whole, "utf8");
  if (bytes.length <= NAME_BYTES_MAX) {
    return whole;
  }
  const kept = bytes
    .subarray(0, KEPT_BYTES)
    .toString("utf8")
    .replace(/\ufffd+$/, "");
  return `${kept}~${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}`;
}

function escapePart(part: string): string {
  return part.replaceAll("%", "%25").replaceAll("/", "%2F");
}
