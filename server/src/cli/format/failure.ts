import type { Failure } from "@pawl/proto/v1/failure_pb.js";

/** A failure in one line, with its chain: `CardDeclined: no funds; caused by HttpError: 402`. */
export function describeFailure(failure: Failure): string {
  const parts: string[] = [];
  for (let at: Failure | undefined = failure; at !== undefined; at = at.cause) {
    const code = at.code === "" || at.code === at.kind ? "" : ` (${at.code})`;
    parts.push(at.message === "" ? `${at.kind}${code}` : `${at.kind}${code}: ${at.message}`);
  }
  return parts.join("; caused by ");
}
