import type { Run } from "../../core/state.js";
import type { Store } from "../../log/store.js";
import type { OperationFilter, Page, RunFilter } from "../kernel-api.js";
import type { Residency } from "../residency.js";
import type { StoredRuns } from "./run-reader.js";

/** What lists are made from. */
export interface ListsParts {
  readonly store: Store;
  readonly partition: number;
  readonly residency: Residency;
  readonly runs: StoredRuns;
  /** Resolves when every run of the log's tail is in memory: the promise of `StartUp.begin`. */
  readonly ready: Promise<void>;
}

/** One page asked for. */
export interface PageRequest {
  readonly size: number;
  readonly token: string;
}

/** Lists across runs. Answers are computed from the pending state; the caller holds them back until it is durable. */
export class Lists {
  readonly #parts: ListsParts;

  constructor(parts: ListsParts) {
    this.#parts = parts;
  }

  /** Runs, newest first. @throws RejectionError PAWL_INVALID_PAGE_TOKEN */
  async listRuns<T>(
    filter: RunFilter,
    page: PageRequest,
    project: (run: Run, runNumber: number) => T,
  ): Promise<Page<T>> {
    await this.#parts.ready;
    throw new Error(`${filter.namespace} ${page.token} ${typeof project}`);
  }

  /** Operations. @throws RejectionError PAWL_INVALID_PAGE_TOKEN */
  async listOperations<T>(
    filter: OperationFilter,
    page: PageRequest,
    project: (run: Run, operation: number, runNumber: number) => T,
  ): Promise<Page<T>> {
    await this.#parts.ready;
    throw new Error(`${filter.namespace} ${page.token} ${typeof project}`);
  }

  /** Open reviews, oldest first. @throws RejectionError PAWL_INVALID_PAGE_TOKEN */
  async listReviews<T>(
    namespace: string,
    page: PageRequest,
    project: (run: Run, runNumber: number, review: number) => T,
  ): Promise<Page<T>> {
    await this.#parts.ready;
    throw new Error(`${namespace} ${page.token} ${typeof project}`);
  }

  /** Number of the aggregate that holds an operation key: in memory, in the tail or in rows. */
  findOperation(namespace: string, operationKey: string): number | undefined {
    return this.#parts.runs.findOperation(namespace, operationKey);
  }
}
