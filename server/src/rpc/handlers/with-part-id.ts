import { fingerprintConflict, notFound } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { NumberedPart } from "../views/part-id.js";

/**
 * The kernel knows an input request or a review by its numbers; whoever asked knows it by its id. What the kernel refuses is said
 * again with the id.
 */
export async function withPartId<T>(
  entity: NumberedPart,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw restate(entity, id, error);
  }
}

function restate(entity: NumberedPart, id: string, error: unknown): unknown {
  if (!(error instanceof RejectionError)) return error;
  const absent = notFound(entity, id);
  if (error.code === "PAWL_RUN_NOT_FOUND" || error.code === absent.reason) {
    return new RejectionError(absent);
  }
  const { detail } = error.rejection;
  return detail?.case === "fingerprintConflict"
    ? new RejectionError(fingerprintConflict({ ...detail.value, id }))
    : error;
}
