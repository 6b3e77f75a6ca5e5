import { StoreDamaged } from "../log/store-errors.js";
import { NumberSet } from "./number-set.js";
import type { Resident } from "./resident.js";

/**
 * Finds and reads stored aggregates. Reads are synchronous where one point read is enough (a run that keeps all in its run
 * row), and paged otherwise.
 */
export interface RunReader {
  /** Number of a run by its id, from the name rows and from the tail of the log; undefined when there is none. */
  findRun(namespace: string, runId: string): number | undefined;
  /** Number of the aggregate that holds an operation key, or the proposal of one; undefined when there is none. */
  findOperation(namespace: string, operationKey: string): number | undefined;
  /** Namespace of a stored aggregate, by the event with which it begins; undefined when that cannot be read. Throws nothing. */
  namespaceOf(number: number): string | undefined;
  /** Reads a run. `paged`: its rows must be read by `loadPaged`. Throws for damage. */
  load(number: number): Resident | "absent" | "paged";
  /** Reads a run whose parts lie in rows of their own. Undefined: there is none. */
  loadPaged(number: number): Promise<Resident | undefined>;
  /** The state made anew from rows, slices and pending events, for a resident whose state is not to be trusted. Throws when that fails too. */
  /** @param turnBaseMs time that the times of the pending events are told from. */
  rebuild(resident: Resident, turnBaseMs: number): Resident["run"];
}

/** Answer of `Residency.find`: the resident, nothing, or a promise after which to ask again. */
export type Found = Resident | undefined | Promise<void>;

/** The runs in memory, and those being read. */
export class Residency {
  readonly #reader: RunReader;
  readonly #byNumber = new Map<number, Resident>();
  /** Runs and ledgers in memory by name; the only place where one that is not yet stored is found. */
  readonly #byName = new Map<string, Resident>();
  readonly #loading = new Map<number, Promise<void>>();
  /** Runs that are damaged, and why: each call for one is refused, also while its state is in memory. */
  readonly #damaged = new Map<number, StoreDamaged>();
  /** Told of each run that turns out to be damaged, once. */
  onDamaged: (runNumber: number) => void = () => {};
  /** Rises with each use, for eviction. */
  #tick = 0;

  constructor(reader: RunReader) {
    this.#reader = reader;
  }

  get size(): number {
    return this.#byNumber.size;
  }

  /** Adds a run that was just started or read. */
  add(resident: Resident): void {
    this.#byNumber.set(resident.number, resident);
    this.#byName.set(nameOf(resident), resident);
    resident.lastUsed = ++this.#tick;
  }

  /** Forgets a run whose rows are durable up to its last event. */
  evict(resident: Resident): void {
    this.#byNumber.delete(resident.number);
    this.#byName.delete(nameOf(resident));
  }

  /** Runs whose rows are being removed, or were, in this process; undefined while there are none. */
  #gone: NumberSet | undefined;

  /** The rows of a deleted run are about to be removed: it is not there from now on. False: it is being read, or has something newer; ask again. */
  leave(number: number): boolean {
    const resident = this.#byNumber.get(number);
    if (this.#loading.has(number) || resident?.isDirty === true) {
      return false;
    }
    if (resident !== undefined) {
      this.evict(resident);
    }
    this.#gone ??= new NumberSet();
    this.#gone.add(number);
    return true;
  }

  /** True for a run whose rows are being removed, or were, in this process. */
  isGone(number: number): boolean {
    return this.#gone?.has(number) === true;
  }

  /** Sets a damaged run aside: from now on asking for it throws. */
  setAside(number: number, damage: StoreDamaged): void {
    if (!this.#damaged.has(number)) {
      this.#damaged.set(number, damage);
      this.onDamaged(number);
    }
  }

  /** The state of a resident made anew from what is stored and what is not yet. */
  rebuild(resident: Resident, turnBaseMs: number): Resident["run"] {
    return this.#reader.rebuild(resident, turnBaseMs);
  }

  /** A run in memory, by number. */
  resident(number: number): Resident | undefined {
    return this.#byNumber.get(number);
  }

  /** All runs in memory, in the order they came. */
  values(): IterableIterator<Resident> {
    return this.#byNumber.values();
  }

  /** A run by id: in memory, or read now. */
  findRun(namespace: string, runId: string): Found {
    const resident = this.#byName.get(runName(namespace, runId));
    if (resident !== undefined) {
      this.#requireWhole(resident.number);
      resident.lastUsed = ++this.#tick;
      return resident;
    }
    const number = this.#reader.findRun(namespace, runId);
    return number === undefined ? undefined : this.find(number);
  }

  /** A ledger by its operation key: in memory, or read now. */
  findLedger(namespace: string, operationKey: string): Found {
    const resident = this.#byName.get(ledgerName(namespace, operationKey));
    if (resident !== undefined) {
      this.#requireWhole(resident.number);
      return resident;
    }
    const number = this.#reader.findOperation(namespace, operationKey);
    return number === undefined ? undefined : this.find(number);
  }

  /** A run by number: in memory, or read now. */
  find(number: number): Found {
    this.#requireWhole(number);
    if (this.#gone?.has(number) === true) {
      return undefined;
    }
    const resident = this.#byNumber.get(number);
    if (resident !== undefined) {
      resident.lastUsed = ++this.#tick;
      return resident;
    }
    const loading = this.#loading.get(number);
    if (loading !== undefined) {
      return loading;
    }
    const loaded = this.#load(number);
    if (loaded === "absent") {
      return undefined;
    }
    if (loaded === "paged") {
      const promise = this.#loadPaged(number);
      this.#loading.set(number, promise);
      return promise;
    }
    this.add(loaded);
    return loaded;
  }

  /**
   * The same for a caller that named the number: one of another namespace is not there for it, also when it is damaged. Of a damaged one whose
   * beginning cannot be read either, nobody knows the namespace, and it is told to nobody.
   */
  findIn(namespace: string, number: number): Found {
    try {
      const found = this.find(number);
      if (found instanceof Promise) {
        // Whoever asks again is told below.
        return found.catch((error: unknown) => this.#hideElsewhere(error, namespace, number));
      }
      return found?.run.namespace === namespace ? found : undefined;
    } catch (error) {
      this.#hideElsewhere(error, namespace, number);
      return undefined;
    }
  }

  #hideElsewhere(error: unknown, namespace: string, number: number): void {
    const known = this.#byNumber.get(number)?.run.namespace ?? this.#reader.namespaceOf(number);
    if (!(error instanceof StoreDamaged) || known === namespace) {
      throw error;
    }
  }

  #requireWhole(number: number): void {
    const damage = this.#damaged.size === 0 ? undefined : this.#damaged.get(number);
    if (damage !== undefined) {
      throw damage;
    }
  }

  #load(number: number): ReturnType<RunReader["load"]> {
    try {
      return this.#reader.load(number);
    } catch (error) {
      throw this.#noteDamage(number, error);
    }
  }

  #noteDamage(number: number, error: unknown): unknown {
    if (error instanceof StoreDamaged) {
      this.setAside(number, error);
    }
    return error;
  }

  async #loadPaged(number: number): Promise<void> {
    try {
      const loaded = await this.#reader.loadPaged(number);
      if (loaded !== undefined && !this.#byNumber.has(number)) {
        this.add(loaded);
      }
    } catch (error) {
      throw this.#noteDamage(number, error);
    } finally {
      this.#loading.delete(number);
    }
  }
}

function nameOf(resident: Resident): string {
  const { run } = resident;
  return run.kind === "run"
    ? runName(run.namespace, run.runId)
    : ledgerName(run.namespace, keyOfLedger(run));
}

/** A ledger holds one operation, or the proposals of one that was not intended yet. */
function keyOfLedger(run: Resident["run"]): string {
  return (run.operations[0] ?? run.proposals[0])?.declaration.key ?? "";
}

// Ids hold no NUL, so these are injective.
function runName(namespace: string, runId: string): string {
  return `${namespace}\0${runId}`;
}

function ledgerName(namespace: string, operationKey: string): string {
  return `${namespace}\0\0${operationKey}`;
}
