/** Walks ranges that do not fit in one page, over any store. */

import { keyAfter } from "./key-codec.js";
import {
  type KeyRange,
  PAGE_ROWS_DEFAULT,
  RANGE_KEYS_MAX,
  type RowPut,
  type Store,
} from "./store.js";

/** The pages of a range in key order, each read when asked for. `pageRows` bounds what is in memory. */
export async function* readPages(
  store: Store,
  range: KeyRange,
  pageRows: number = PAGE_ROWS_DEFAULT,
): AsyncGenerator<readonly RowPut[], void, undefined> {
  let gte = range.gte;
  for (;;) {
    const page = await store.read({ gte, lt: range.lt, limit: pageRows });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < pageRows) return;
    gte = keyAfter(last.key);
  }
}

/**
 * Cuts a range into ranges of at most `keysMax` stored keys (default and bound: `RANGE_KEYS_MAX`), so that
 * each may be removed by one `putRows`. Remove each before asking for the next. Values are read along with
 * the keys, so keep `keysMax` small where they are large.
 */
export async function* splitRange(
  store: Store,
  range: KeyRange,
  keysMax: number = RANGE_KEYS_MAX,
): AsyncGenerator<KeyRange, void, undefined> {
  let gte = range.gte;
  for await (const page of readPages(store, range, Math.min(keysMax, RANGE_KEYS_MAX))) {
    const last = page.at(-1);
    if (last === undefined) return;
    const lt = keyAfter(last.key);
    yield { gte, lt };
    gte = lt;
  }
}
