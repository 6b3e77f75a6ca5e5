import type { PlanSource } from "../../core/apply.js";
import type { MutableRun } from "../../core/state.js";
import type { Store } from "../../log/store.js";
import type { RunReader } from "../residency.js";
import type { Resident } from "../resident.js";
import type { Tail } from "./tail.js";

/** What stored runs are read from. */
export interface StoredRunsParts {
  readonly store: Store;
  readonly partition: number;
  readonly tail: Tail;
  readonly plans: PlanSource;
}

/** Finds and reads runs: rows of the store, and what the tail of the log has beyond them. */
export class StoredRuns implements RunReader {
  /** Called with every run that was read, before it joins the residents; set by `StartUp`. */
  onLoad: (resident: Resident) => void = () => {};
  readonly #parts: StoredRunsParts;

  constructor(parts: StoredRunsParts) {
    this.#parts = parts;
  }

  findRun(namespace: string, runId: string): number | undefined {
    throw new Error(`${namespace}${runId}${this.#parts.partition}`);
  }

  findOperation(namespace: string, operationKey: string): number | undefined {
    throw new Error(namespace + operationKey);
  }

  load(number: number): Resident | "absent" | "paged" {
    throw new Error(`${number}`);
  }

  loadPaged(number: number): Promise<Resident | undefined> {
    throw new Error(`${number}`);
  }

  rebuild(resident: Resident, turnBaseMs: number): MutableRun {
    throw new Error(`${resident.number} ${turnBaseMs}`);
  }
}
