import { DefinitionInvalid } from "../../errors.js";
import type { Winner } from "../../workflow-context.js";
import { isThenable, quiet } from "../quiet.js";
import { lostWinner } from "./misfit.js";

type Entries = Readonly<Record<string, PromiseLike<unknown>>>;

/** What a contest needs of the function it is held in. */
export interface ContestParts {
  /** Records who won; resolves with who had won the first time. */
  readonly record: (name: string, winner: string) => Promise<string>;
  /** This lost: it goes on, but the function may return without it. */
  readonly lose: (entry: PromiseLike<unknown>) => void;
  /** Throws when the attempt should stop: what ended only for that decides nothing. */
  readonly assertGoesOn: () => void;
}

/** The first of several to end (`race`) or to succeed (`any`). Who wins is recorded: code that runs again waits for the same one. @throws RecordMismatch when that is no entry any more. */
export async function contest<E extends Entries>(
  kind: "race" | "any",
  { name, entries }: { readonly name: string; readonly entries: E },
  { record, lose, assertGoesOn }: ContestParts,
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
  if (!Object.hasOwn(entries, recorded)) {
    throw lostWinner(`${kind} "${name}"`, recorded);
  }
  for (const [entry, promise] of Object.entries(entries)) {
    if (entry !== recorded) lose(promise);
  }
  const value = await entries[recorded];
  return { winner: recorded, value } as Winner<E>;
}

/** The values of all, in order; after the first failure nobody needs the others any more. */
export async function allOf<const Promises extends readonly unknown[]>(
  promises: Promises,
  lose: ContestParts["lose"],
): Promise<{ -readonly [K in keyof Promises]: Awaited<Promises[K]> }> {
  try {
    return await Promise.all(promises);
  } catch (error) {
    for (const each of promises) if (isThenable(each)) lose(each);
    throw error;
  }
}
