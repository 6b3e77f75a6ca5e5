import type { WaitCall } from "../waits.js";
import { scopedName, scopeOf } from "./scopes.js";

/** A wait under the names around the code of this attempt that runs now. */
export function scopedCall(attempt: object, call: WaitCall): WaitCall {
  const name = scopedName(scopeOf(attempt), call.name);
  if (name === call.name) return call;
  return {
    ...call,
    name,
    describe: (elapsedMs) => {
      const wait = call.describe(elapsedMs);
      wait.name = name;
      return wait;
    },
  };
}
