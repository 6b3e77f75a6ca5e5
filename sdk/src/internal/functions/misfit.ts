import type { PawlError } from "../../errors.js";
import { RecordMismatch } from "../../workflow-errors.js";
import { describe, type Identity } from "./recorded.js";

/** What may be done about code that does not fit. */
const WAYS_OUT =
  'Nothing was lost. Serve the code that made the records and resolve the review with "retry"; or let runs that have passed this place keep their old lines, by ctx.version; or start anew under another run id.';

/** Most names that an error gives. */
const NAMES_MAX = 5;

/** That the code asks for something else than is recorded. */
export function contradiction(recorded: Identity, asked: Identity): RecordMismatch {
  return new RecordMismatch(
    `Expected the code to ask for ${describe(recorded)}, which is recorded, but it asks for ${describe(asked)}. ${WAYS_OUT}`,
  );
}

/** That who won a race is none of its entries any more. */
export function lostWinner(race: string, winner: string): RecordMismatch {
  return new RecordMismatch(
    `Expected ${race} to have the entry "${winner}", which is recorded to have won it, but the code gives it no such entry. ${WAYS_OUT}`,
  );
}

/** That code which a run needs is no longer there. */
export function missingVersion(names: readonly string[]): RecordMismatch {
  const list = names.map((name) => `"${name}"`).join(", ");
  return new RecordMismatch(
    `Expected the code to ask ctx.version for ${list}, since this run went on with what stood there before, but it does not ask any more. ${WAYS_OUT}`,
  );
}

/** That code which goes on as another incarnation leaves behind what something was done for. */
export function unreached(what: readonly string[]): RecordMismatch {
  return new RecordMismatch(
    `Expected the code to reach all that is recorded before it continues as new, but it did not reach ${what.slice(0, NAMES_MAX).join(", ")}. ${WAYS_OUT}`,
  );
}

/** A refusal because of what is recorded, as a difference between records and code; any other error as it is. */
export function misfit(error: PawlError): PawlError {
  if (error instanceof RecordMismatch) return error;
  const isMisfit =
    error.code === "PAWL_FINGERPRINT_CONFLICT" || error.code === "PAWL_RECORD_MISMATCH";
  if (!isMisfit) return error;
  return new RecordMismatch(
    `The code differs from what is recorded. ${error.message} ${WAYS_OUT}`,
    {
      cause: error,
    },
  );
}
