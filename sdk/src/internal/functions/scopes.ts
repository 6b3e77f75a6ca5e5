import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";

/** The kernel's own bound of a name, in bytes. */
const NAME_BYTES_MAX = 200;
/** What is kept of a name that is too long; the rest stands in its hash. */
const KEPT_BYTES = 160;

/** Something of an item that has not ended: a called task, or a wait. */
export interface OpenAsk {
  readonly isCall: boolean;
  readonly name: string;
  readonly key: string | undefined;
}

/** One item of a map: the names around the code that runs for it, and what of that code has not ended. */
export class Scope {
  /** The attempt it belongs to. */
  readonly attempt: object;
  /** Names and keys of the maps around, this item's included. */
  readonly path: string;
  /** What its code waits for. */
  readonly open: Set<OpenAsk> = new Set();
  readonly #outer: Scope | undefined;
  readonly #inner = new Set<Scope>();
  #isGivenUp = false;

  constructor(attempt: object, path: string, outer: Scope | undefined) {
    this.attempt = attempt;
    this.path = path;
    this.#outer = outer;
    if (outer !== undefined) outer.#inner.add(this);
  }

  /** True when nobody waits for the item any more: whatever its code still calls never goes on. */
  get isGivenUp(): boolean {
    return this.#isGivenUp || this.#outer?.isGivenUp === true;
  }

  /** Nobody waits for the item any more. Gives what it, and what is inside of it, has open. */
  giveUp(): OpenAsk[] {
    this.#isGivenUp = true;
    return [...this.open, ...[...this.#inner].flatMap((scope) => scope.giveUp())];
  }

  /** The item has ended. */
  leave(): void {
    if (this.#outer !== undefined) this.#outer.#inner.delete(this);
  }
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs the code of an item. */
export function inScope<T>(scope: Scope, run: () => T): T {
  return scopes.run(scope, run);
}

/** The item of this attempt whose code runs now; undefined at its top. */
export function currentScope(attempt: object): Scope | undefined {
  const scope = scopes.getStore();
  return scope?.attempt === attempt ? scope : undefined;
}

/** The path of names and keys around the code of this attempt that runs now; empty at its top. */
export function scopeOf(attempt: object): string {
  return currentScope(attempt)?.path ?? "";
}

/** The path of an item of a map. */
export function itemPath(outer: string, map: string, key: string): string {
  const own = `${escapePart(map)}/${escapePart(key)}`;
  return outer === "" ? own : `${outer}/${own}`;
}

/** A name as it is recorded: under the path around it. */
export function scopedName(path: string, name: string): string {
  return path === "" ? name : bounded(`${path}/${escapePart(name)}`);
}

/** The name of a called task in its run: the path around the call, the task's own name and the key of the call. */
export function callName(path: string, task: string, key: string | undefined): string {
  const own = key === undefined ? escapePart(task) : `${escapePart(task)}/${escapePart(key)}`;
  return bounded(path === "" ? own : `${path}/${own}`);
}

/** One path below another; either may be empty. */
export function joined(root: string, path: string): string {
  return root === "" || path === "" ? `${root}${path}` : `${root}/${path}`;
}

/** A name that is too long is cut, and closed with a hash of the whole. */
export function bounded(whole: string): string {
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
