import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { type Offer, RecordKind } from "@pawl/proto/v1/worker_service_pb.js";

/** What a function asks for, or has recorded. */
export type RecordedKind =
  | "operation"
  | "approval"
  | "child"
  | "order"
  | "wait"
  | "call"
  | "step"
  | "version";

/** By what something of a function is known. */
export interface Identity {
  readonly kind: RecordedKind;
  readonly name: string;
  readonly key: string | undefined;
  /** Of an operation or an approval. */
  readonly scope?: OperationScope | undefined;
}

const kinds: ReadonlyMap<RecordKind, RecordedKind> = new Map([
  [RecordKind.OPERATION, "operation"],
  [RecordKind.APPROVAL, "approval"],
  [RecordKind.CHILD, "child"],
  [RecordKind.ORDER, "order"],
  [RecordKind.WAIT, "wait"],
]);

/** What must not be left behind unseen: something was done for it. */
const weighty: ReadonlySet<RecordedKind> = new Set(["operation", "approval", "child", "call"]);

/** What is recorded of a function when its code begins at its top, steps apart, and what of it the code has reached. */
export class Recorded {
  /** What was not reached yet, by identity. */
  readonly #left = new Map<string, Identity>();
  /** The same by the places in which the code could name something else. */
  readonly #byPlace = new Map<string, Identity[]>();

  constructor({
    recorded,
    outcomes,
    openCalls,
  }: Pick<Offer, "recorded" | "outcomes" | "openCalls">) {
    for (const { kind, name, key, scope } of recorded) {
      const known = kinds.get(kind);
      if (known !== undefined) this.#add({ kind: known, name, key, scope });
    }
    for (const { name, key, outcome } of outcomes) {
      this.#add({ kind: outcome.case === "call" ? "call" : "wait", name, key });
    }
    for (const name of openCalls) this.#add({ kind: "call", name, key: undefined });
  }

  #add(identity: Identity): void {
    this.#left.set(keyOf(identity), identity);
    for (const place of placesOf(identity)) {
      const there = this.#byPlace.get(place);
      if (there === undefined) this.#byPlace.set(place, [identity]);
      else there.push(identity);
    }
  }

  /** The code asks for this. True when it is recorded. */
  reach(identity: Identity): boolean {
    return this.#left.size > 0 && this.#left.delete(keyOf(identity));
  }

  /** True while something recorded was not reached. */
  get hasLeft(): boolean {
    return this.#left.size > 0;
  }

  /** What was not reached though something was done for it, in words. */
  get unvisited(): string[] {
    return [...this.#left.values()].filter(({ kind }) => weighty.has(kind)).map(describe);
  }

  /** What is recorded, and was not reached, where the code asks for something else now. */
  contradicted(asked: Identity): Identity | undefined {
    if (this.#left.size === 0) return undefined;
    return placesOf(asked)
      .flatMap((place) => this.#byPlace.get(place) ?? [])
      .find((there) => this.#left.has(keyOf(there)) && differs(there, asked));
  }
}

/** In words, for people. */
export function describe({ kind, name, key }: Identity): string {
  const what = kind === "call" ? "called task" : kind;
  return `${what} "${name}"${key === undefined ? "" : ` under "${key}"`}`;
}

function keyOf({ kind, name, key, scope }: Identity): string {
  return JSON.stringify([kind, scope ?? OperationScope.UNSPECIFIED, name, key ?? null]);
}

/** An approval and its operation stand in one place, and so may a child and a wait for something else of its name. */
function differs(one: Identity, other: Identity): boolean {
  const isPair = family(one.kind) === family(other.kind);
  return !isPair || one.name !== other.name;
}

function family(kind: RecordedKind): string {
  return kind === "approval" ? "operation" : kind;
}

/** Where something stands: under its whole name, and, when the code gave a key, under that key among its like. */
function placesOf({ kind, name, key, scope }: Identity): string[] {
  if (kind === "version") return [];
  const whole = `name ${key === undefined ? name : `${name}/${key}`}`;
  if (kind === "call") {
    const parts = name.split("/");
    // With a key of its own its name has an even number of parts: those around come in pairs.
    if (parts.length % 2 !== 0) return [whole];
    parts[parts.length - 2] = "*";
    return [whole, `call ${parts.join("/")}`];
  }
  if (key === undefined) return [whole];
  // The name of a wait has the names around it before it, and they belong to its place; the key of an effect has them.
  const around = kind === "wait" ? name.slice(0, name.lastIndexOf("/") + 1) : "";
  return [whole, `${family(kind)} ${scope ?? 0} ${around}${key}`];
}
