import type { RecordStep } from "../command.js";
import { limits } from "../limits.js";
import { publishedBytesOf } from "../published.js";
import { invalidField, type Rejection } from "../rejection.js";
import type { Run } from "../state.js";

/** Why a step may not publish its value; undefined when it may, or publishes none. */
export function refusePublication(
  run: Run,
  { publishes, value }: RecordStep,
): Rejection | undefined {
  if (publishes === undefined) {
    return undefined;
  }
  if (value === undefined) {
    return invalidField("outcome", "a value, since it is published", "a failure");
  }
  if (!run.published.has(publishes) && run.published.size >= limits.publishedNamesMax) {
    return tooMuch("published names", `${limits.publishedNamesMax} names`, "publish fewer");
  }
  const bytes = run.publishedBytes - publishedBytesOf(run, publishes) + value.length;
  return bytes > limits.publishedBytesMax
    ? tooMuch("published values", `${limits.publishedBytesMax} bytes`, "publish less")
    : undefined;
}

function tooMuch(resource: string, bound: string, next: string): Rejection {
  return {
    reason: "PAWL_TOO_LARGE",
    message: `Expected the run to publish at most ${bound}, but this would be more. Next: ${next}.`,
    detail: { case: "overloaded", value: { resource, bound } },
  };
}
