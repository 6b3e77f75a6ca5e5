import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { count } from "./format/text.js";
import type { Output } from "./output.js";

/** A page of any list of the API. */
export interface ListPage<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** What was read of a list. */
export interface ReadList<T> {
  readonly items: T[];
  /** True when the list goes on. */
  readonly hasMore: boolean;
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
): Promise<ReadList<T>> {
  const items: T[] = [];
  let pageToken = "";
  do {
    const page = await fetch({ pageSize: Math.min(PAGE_MAX, limit - items.length), pageToken });
    items.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && items.length < limit);
  return { items, hasMore: pageToken !== "" };
}

/** Prints what was read of a list, as JSON or as `print` does it, and says when there is more. `noun`: what its rows are, in the singular. */
export function printList<D extends DescMessage>(
  out: Output,
  { items, hasMore }: ReadList<MessageShape<D>>,
  {
    schema,
    noun,
    print,
  }: {
    readonly schema: D;
    readonly noun: string;
    readonly print: (items: readonly MessageShape<D>[]) => void;
  },
): void {
  if (out.isJson) {
    for (const item of items) out.message(schema, item);
  } else {
    print(items);
  }
  if (hasMore) {
    out.notice(`There are more than ${count(items.length, noun)}; --limit lists more.`);
  }
}
