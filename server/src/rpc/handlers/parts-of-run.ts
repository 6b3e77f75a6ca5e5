import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { Page, PageRequest } from "../../kernel/kernel-api.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { PageRows } from "../../kernel/page-rows.js";
import type { Edge } from "../edge.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { readNamespace } from "../validate/fields.js";
import { type NumberedPart, type PartNumbers, parsePartId } from "../views/part-id.js";
import { withPartId } from "./with-part-id.js";

/**
 * Reads one part of a run by its id.
 *
 * @throws RejectionError (as a rejection) PAWL_INPUT_NOT_FOUND or PAWL_REVIEW_NOT_FOUND, also for one of an earlier incarnation.
 */
export async function viewPart<T>(
  edge: Edge,
  namespace: string,
  { entity, id }: { readonly entity: NumberedPart; readonly id: string },
  viewOf: (run: Run, numbers: PartNumbers) => T | undefined,
): Promise<T> {
  const checked = readNamespace(namespace);
  const numbers = parsePartId(entity, id);
  const target = { kind: "number", number: numbers.runNumber, namespace: checked } as const;
  const found = await withPartId(entity, id, () =>
    edge.kernel.view(target, (run) =>
      run.incarnation === numbers.incarnation ? viewOf(run, numbers) : undefined,
    ),
  );
  if (found === undefined) {
    throw new RejectionError(notFound(entity, id));
  }
  return found;
}

/** Which page of a list inside one run. */
export interface PageOfRun<T> {
  /** What the list is and what narrows it: a token counts for nothing else. */
  readonly filter: readonly string[];
  readonly page: PageRequest<T>;
}

/** The parts that a list inside one run is of. */
export interface PartsOfRun<T> {
  readonly count: (run: Run) => number;
  /** The row of a part; undefined: it is not wanted. */
  readonly rowOf: (run: Run, part: number, runNumber: number) => T | undefined;
}

/**
 * A page of parts of one run, in the order of their numbers.
 *
 * @throws RejectionError (as a rejection) PAWL_INVALID_PAGE_TOKEN for a token of another list.
 */
export async function pageOfRun<T>(
  edge: Edge,
  target: Target,
  { filter, page }: PageOfRun<T>,
  { count, rowOf }: PartsOfRun<T>,
): Promise<Page<T>> {
  const from = readPageToken(filter, page.token);
  return await edge.kernel.view(target, (run, runNumber) => {
    const rows = new PageRows(page);
    for (let part = from; part < count(run); part++) {
      const row = rowOf(run, part, runNumber);
      if (row !== undefined && !rows.add(() => row)) {
        return { items: rows.items, nextPageToken: writePageToken(filter, part) };
      }
    }
    return { items: rows.items, nextPageToken: "" };
  });
}
