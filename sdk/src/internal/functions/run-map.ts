import type { MapItem, MapOptions } from "../../workflow-context.js";
import { mapItems } from "./map-items.js";
import { currentScope, inScope, itemPath, type OpenAsk, Scope, scopeOf } from "./scopes.js";

/** A map, and what it needs of its function. */
export interface RunMapParts<Item, Value> {
  /** The function's `ctx`. */
  readonly attempt: object;
  readonly name: string;
  readonly items: readonly Item[];
  readonly options: MapOptions<Item>;
  readonly run: (item: Item, key: string) => Promise<Value>;
  /** Nobody waits for this any more. */
  readonly giveUp: (asks: readonly OpenAsk[]) => void;
  /** Throws when the attempt should stop. */
  readonly assertGoesOn: () => void;
}

/** Runs a map, each item under its own names. */
export function runMap<Item, Value>(
  parts: RunMapParts<Item, Value>,
): Promise<readonly MapItem<Value>[]> {
  const { attempt, name, run } = parts;
  const outer = scopeOf(attempt);
  const around = currentScope(attempt);
  const scopes = new Map<string, Scope>();
  return mapItems({
    ...parts,
    run: (item, key) => {
      const scope = new Scope(attempt, itemPath(outer, name, key), around);
      scopes.set(key, scope);
      return inScope(scope, async () => run(item, key)).finally(() => {
        scope.leave();
        scopes.delete(key);
      });
    },
    giveUp: () => parts.giveUp([...scopes.values()].flatMap((scope) => scope.giveUp())),
  });
}
