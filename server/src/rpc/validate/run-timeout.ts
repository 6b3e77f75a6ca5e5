import { type DurationParts, durationMs, showDuration } from "../../core/duration.js";
import { limits } from "../../core/limits.js";
import { badField } from "../refusals.js";

/**
 * How long a run may take, in ms; undefined when nobody bounds it.
 *
 * @throws RejectionError PAWL_INVALID_FIELD. A run that may take no time at all is a mistake.
 */
export function readRunTimeout(value: DurationParts | undefined): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  const ms = durationMs(value);
  if (!(ms >= 1 && ms <= limits.timeoutMsMax)) {
    throw badField("run_timeout", `1 ms to ${limits.timeoutMsMax} ms`, showDuration(value));
  }
  return ms;
}
