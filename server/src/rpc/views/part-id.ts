import { notFound } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { requireText } from "../validate/fields.js";

/** What has an id made of numbers. */
export type NumberedPart = "input" | "review";

/**
 * Id of a part of a run: the number of its run in the store, its own number in the run, and, from the second on, the incarnation of the run,
 * since numbers begin anew with each: what is decided about one incarnation never reaches another.
 */
export function partId(runNumber: number, part: number, incarnation: number): string {
  return `${runNumber}-${part}${incarnation === 1 ? "" : `-${incarnation}`}`;
}

/** The numbers in an id of a part. */
export interface PartNumbers {
  readonly runNumber: number;
  /** The part's own number in the run. */
  readonly part: number;
  readonly incarnation: number;
}

/**
 * Reads an id of a part.
 *
 * @throws RejectionError PAWL_INVALID_FIELD when it is empty or overlong, PAWL_INPUT_NOT_FOUND or PAWL_REVIEW_NOT_FOUND when no part can have it.
 */
export function parsePartId(entity: NumberedPart, id: string): PartNumbers {
  requireText(id, `${entity}_id`, { min: 1, max: 200 });
  const parts = /^([0-9]{1,15})-([0-9]{1,9})(?:-([1-9][0-9]{0,8}))?$/.exec(id);
  if (parts === null || parts[3] === "1") {
    throw new RejectionError(notFound(entity, id));
  }
  const [, run, part, incarnation = "1"] = parts;
  return { runNumber: Number(run), part: Number(part), incarnation: Number(incarnation) };
}
