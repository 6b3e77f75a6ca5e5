import { DefinitionInvalid } from "../../errors.js";
import { quiet } from "../quiet.js";

/**
 * What decides a race or an any: for each entry, in order, a promise of its name. In a race an entry that fails has ended like any other; in an any its
 * failure stays one.
 *
 * @throws DefinitionInvalid when there are no entries: nothing could win.
 */
export function contestOf(
  kind: "race" | "any",
  name: string,
  entries: Readonly<Record<string, PromiseLike<unknown>>>,
): readonly Promise<string>[] {
  const named = Object.entries(entries);
  if (named.length === 0) {
    throw new DefinitionInvalid(
      `Expected ${kind} "${name}" to have entries, but it has none, so nothing could win it. Give it what may end first.`,
    );
  }
  return named.map(([entry, promise]) => {
    const ended = (): string => entry;
    return quiet(Promise.resolve(promise).then(ended, kind === "race" ? ended : undefined));
  });
}
