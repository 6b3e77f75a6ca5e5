import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { Page } from "../../kernel/kernel-api.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { readNamespace } from "../validate/fields.js";
import { type NumberedPart, type PartNumbers, parsePartId } from "../views/part-id.js";
import type { RunFields } from "./requests.js";
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
export interface PageOfRun {
  /** What the list is and what narrows it: a token counts for nothing else. */
  readonly filter: readonly string[];
  readonly size: number;
  readonly pageToken: string;
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
  { namespace, runId }: RunFields,
  { filter, size, pageToken }: PageOfRun,
  { count, rowOf }: PartsOfRun<T>,
): Promise<Page<T>> {
  const from = readPageToken(filter, pageToken);
  return await edge.kernel.view({ kind: "run", namespace, runId }, (run, runNumber) => {
    const items: T[] = [];
    for (let part = from; part < count(run); part++) {
      const row = rowOf(run, part, runNumber);
      if (row === undefined) {
        continue;
      }
      if (items.length === size) {
        return { items, nextPageToken: writePageToken(filter, part) };
      }
      items.push(row);
    }
    return { items, nextPageToken: "" };
  });
}
