/** A page of any list of the API. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** How many rows a list prints when nothing else is said. */
export const ROWS_DEFAULT = 50;

/** Most rows that a list prints. */
export const LIMIT_MAX = 100_000;

/** Most rows of one page, a bound of the API. */
const PAGE_MAX = 1000;

/** Reads pages until `limit` rows are there or the list ends. */
export async function readList<T>(
  limit: number,
  fetch: (page: { pageSize: number; pageToken: string }) => Promise<ListPage<T>>,
): Promise<{ items: T[]; hasMore: boolean }> {
  const items: T[] = [];
  let pageToken = "";
  do {
    const page = await fetch({ pageSize: Math.min(PAGE_MAX, limit - items.length), pageToken });
    items.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && items.length < limit);
  return { items, hasMore: pageToken !== "" };
}
