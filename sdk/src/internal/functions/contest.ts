import { DefinitionInvalid } from "../../errors.js";
import type { Winner } from "../../workflow-context.js";
import { quiet } from "../quiet.js";

type Entries = Readonly<Record<string, PromiseLike<unknown>>>;

/** What a contest needs of the function it is held in. */
export interface ContestParts {
  /** Records who won; resolves with who had won the first time. */
  readonly record: (name: string, winner: string) => Promise<string>;
  /** Throws when the attempt should stop: what ended only for that decides nothing. */
  readonly assertGoesOn: () => void;
}

/** The first of several to end (`race`) or to succeed (`any`). Who wins is recorded: code that runs again waits for the same one. */
export async function contest<E extends Entries>(
  kind: "race" | "any",
  { name, entries }: { readonly name: string; readonly entries: E },
  { record, assertGoesOn }: ContestParts,
): Promise<Winner<E>> {
  if (Object.keys(entries).length === 0) {
    throw new DefinitionInvalid(
      `Expected ${kind} "${name}" to have entries, but it has none, so nothing could win it. Give it what may end first.`,
    );
  }
  const rivals = Object.entries(entries).map(([entry, promise]) => {
    const ended = (): string => entry;
    return quiet(Promise.resolve(promise).then(ended, kind === "race" ? ended : undefined));
  });
  const first = kind === "race" ? Promise.race(rivals) : Promise.any(rivals);
  const winner = await first.finally(assertGoesOn);
  const recorded = await record(`$${kind}/${name}`, winner);
  const value = await entries[recorded];
  return { winner: recorded, value } as Winner<E>;
}
