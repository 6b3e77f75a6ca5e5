import { DefinitionInvalid } from "../../errors.js";
import type { MapItem, MapOptions } from "../../workflow-context.js";
import { JoinFailed } from "../../workflow-errors.js";
import { checkId } from "../ids.js";

/** A map that goes on. */
export interface MapParts<Item, Value> {
  readonly name: string;
  readonly items: readonly Item[];
  readonly options: MapOptions<Item>;
  /** Runs one item under its own names. */
  readonly run: (item: Item, key: string) => Promise<Value>;
  /** Nobody waits for what these items still do. */
  readonly giveUp: () => void;
  /** Throws when the attempt should stop: what ended only for that decides nothing. */
  readonly assertGoesOn: () => void;
}

/** Runs a map to what its join asks for. */
export async function mapItems<Item, Value>(
  parts: MapParts<Item, Value>,
): Promise<readonly MapItem<Value>[]> {
  const { name, items, options } = parts;
  const keys = keysOf(name, items, options.key);
  const wanted = wantedOf(name, options, items.length);
  const ended = new Map<string, MapItem<Value>>();
  await new Promise<void>((resolve) => {
    let next = 0;
    let ok = 0;
    const isDone = (): boolean => ended.size === items.length || ok >= wanted;
    const goOn = (): void => {
      if (isDone()) {
        resolve();
        return;
      }
      while (next < items.length && next - ended.size < (options.concurrency ?? items.length)) {
        const place = next++;
        begin(items[place] as Item, keys[place] ?? "");
      }
    };
    const begin = (item: Item, key: string): void => {
      parts.run(item, key).then(
        (value) => {
          ok++;
          ended.set(key, { key, status: "ok", value });
          goOn();
        },
        (error: unknown) => {
          ended.set(key, { key, status: "failed", error });
          goOn();
        },
      );
    };
    goOn();
  });
  parts.assertGoesOn();
  parts.giveUp();
  const result = keys.map((key): MapItem<Value> => ended.get(key) ?? { key, status: "missing" });
  requireEnough(name, options, result);
  return result;
}

function keysOf<Item>(
  map: string,
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly string[] {
  const keys = items.map((item) => checkId(keyOf(item), `the key of an item of map "${map}"`));
  const seen = new Set<string>();
  for (const key of keys) {
    if (seen.has(key)) {
      throw new DefinitionInvalid(
        `Expected each item of map "${map}" to have a key of its own, but "${key}" comes twice. Choose what tells the items apart.`,
      );
    }
    seen.add(key);
  }
  return keys;
}

/** So many must succeed before the others are given up: more than there are when all are waited for. */
function wantedOf<Item>(
  name: string,
  { join, concurrency }: MapOptions<Item>,
  count: number,
): number {
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new DefinitionInvalid(
      `Expected the concurrency of map "${name}" to be a whole number from 1, but it is ${concurrency}.`,
    );
  }
  if (join === undefined || join === "all") {
    return count + 1;
  }
  const { atLeast } = join;
  if (!(Number.isInteger(atLeast) && atLeast >= 0)) {
    throw new DefinitionInvalid(
      `Expected atLeast of map "${name}" to be a whole number from 0, but it is ${atLeast}.`,
    );
  }
  return atLeast;
}

function requireEnough<Item, Value>(
  name: string,
  { join }: MapOptions<Item>,
  result: readonly MapItem<Value>[],
): void {
  if (join === undefined || join === "all") return;
  const ok = result.filter(({ status }) => status === "ok").length;
  if (ok < join.atLeast) {
    const errors = result.flatMap((item) => (item.status === "failed" ? [item.error] : []));
    throw new JoinFailed(name, { wanted: join.atLeast, ok }, errors);
  }
}
