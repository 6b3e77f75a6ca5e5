import type { PerformOptions } from "../../context.js";
import type { WaitCall } from "../waits.js";
import { bounded, scopedName, scopeOf } from "./scopes.js";

/** A wait under the names around the code of this attempt that runs now. */
export function scopedCall(attempt: object, call: WaitCall): WaitCall {
  if (call.isNamed !== true) return call;
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

/** How an effect is named, under the names around the code of this attempt that runs now. The identity of one that reaches beyond the task is the code's own, wherever it is performed. */
export function scopedOptions<
  Options extends { readonly key?: string; readonly scope?: PerformOptions["scope"] },
>(attempt: object, options: Options): Options {
  const path = scopeOf(attempt);
  if (path === "" || (options.scope ?? "task") !== "task") return options;
  const key = options.key === undefined ? bounded(path) : scopedName(path, options.key);
  return { ...options, key };
}
