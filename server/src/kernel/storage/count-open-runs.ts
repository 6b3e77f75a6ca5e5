import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Run } from "../../core/state.js";
import { isRunOpen } from "../../core/transitions.js";
import { readU64 } from "../../log/bytes.js";
import { rangeOfKind, rangeOfPrefix, visibilityKey } from "../../log/key.js";
import type { KeyRange, Store } from "../../log/store.js";
import { readPages } from "../../log/store-scan.js";
import { listField } from "./index-entries.js";

/** Index rows read at once. */
const pageRows = 2000;
/** Where the run number lies in a visibility key, from its end: behind it only the part's number follows. */
const runNumberFromEnd = 12;

/** States of a run that has not ended. */
const openStatuses: readonly number[] = Object.values(RunStatus).filter((status) =>
  isRunOpen(status),
);

/**
 * A walk over the index rows of all runs that have not ended, while no row changes. Runs that are read meanwhile are counted by whoever
 * reads them, unless the walk has passed them.
 */
export class OpenRunWalk {
  /** By namespace and state: the last run number that the walk has passed. */
  readonly #passed = new Map<string, number>();

  /** True when the run's row was counted; for a run that is as its row says. */
  hasPassed({ namespace, status }: Run, runNumber: number): boolean {
    return runNumber <= (this.#passed.get(`${status}:${namespace}`) ?? -1);
  }

  /** @param take called with the number of each run, in pages; false ends the walk. */
  async walk(
    store: Store,
    partition: number,
    take: (runNumbers: readonly number[]) => boolean,
  ): Promise<void> {
    for await (const namespace of namespacesOf(store, partition)) {
      for (const status of openStatuses) {
        const name = `${status}:${namespace}`;
        const listed = { partition, namespace, field: listField.status, value: `${status}` };
        const range = rangeOfPrefix(visibilityKey.prefix(listed));
        for await (const page of readPages(store, range, pageRows)) {
          const runNumbers = page.map(({ key }) => readU64(key, key.length - runNumberFromEnd));
          this.#passed.set(name, runNumbers.at(-1) ?? 0);
          if (!take(runNumbers)) {
            return;
          }
        }
        this.#passed.set(name, Number.POSITIVE_INFINITY);
      }
    }
  }
}

/** The namespaces that have runs: each is found with one seek past the one before. */
async function* namespacesOf(store: Store, partition: number): AsyncGenerator<string> {
  const { gte, lt } = rangeOfKind(visibilityKey.kind, partition);
  let rest: KeyRange = { gte, lt };
  for (;;) {
    const [first] = await store.read({ ...rest, limit: 1 });
    if (first === undefined) {
      return;
    }
    const { namespace } = visibilityKey.decode(first.key);
    yield namespace;
    const all = rangeOfPrefix(visibilityKey.prefix({ partition, namespace }));
    rest = { gte: all.lt, lt };
  }
}
