import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { readU64 } from "../../log/bytes.js";
import { rangeOfKind, rangeOfPrefix, visibilityKey } from "../../log/key.js";
import type { KeyRange, Store } from "../../log/store.js";
import { readPages } from "../../log/store-scan.js";
import { listField } from "./index-entries.js";

/** Index rows read at once. */
const pageRows = 2000;
/** Where the run number lies in a visibility key, from its end: behind it only the part's number follows. */
const runNumberFromEnd = 12;

/**
 * A walk over one index row of each run that has not ended: a paused one stands among the running ones as well. Rows may change meanwhile; those of
 * a run that nobody reads do not.
 *
 * @param take called with the number of each run, in pages; false ends the walk.
 */
export async function walkOpenRuns(
  store: Store,
  partition: number,
  take: (runNumbers: readonly number[]) => boolean,
): Promise<void> {
  const open = { partition, field: listField.status, value: `${RunStatus.RUNNING}` };
  for await (const namespace of namespacesOf(store, partition)) {
    const range = rangeOfPrefix(visibilityKey.prefix({ ...open, namespace }));
    for await (const page of readPages(store, range, pageRows)) {
      if (!take(page.map(({ key }) => readU64(key, key.length - runNumberFromEnd)))) {
        return;
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
