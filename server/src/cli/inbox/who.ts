import { InvalidArgumentError } from "commander";
import { accessOf } from "../../access/access-table.js";

/** For whom an inbox is shown: what those who are named may answer. */
export interface Who {
  /** `user:NAME` and `role:NAME`: whose decisions proposals ask for. */
  readonly deciders: readonly string[];
  /** Whom questions name, in each way in which they may. */
  readonly addressees: readonly string[];
  /** False when none of those who are named can resolve a review. */
  readonly mayResolve: boolean;
}

/** Who may resolve reviews, as addressees. */
export const resolvers: readonly string[] = (
  accessOf("pawl.v1.ReviewService", "ResolveReview")?.roles ?? []
).map((role) => `role:${role}`);

/** Reads one `--for`: `user:NAME`, `role:NAME`, or the name of a principal alone. */
export function gatherWho(text: string, before: readonly string[] = []): string[] {
  if (text === "" || text.includes("\0") || /^(?:user|role):$/.test(text)) {
    throw new InvalidArgumentError("Expected the name of a principal, user:NAME or role:NAME.");
  }
  return [...before, text];
}

/** Whom the uses of `--for` name; undefined: whoever there is. */
export function whoOf(named: readonly string[] | undefined): Who | undefined {
  if (named === undefined) return undefined;
  const deciders = named.map((name) => (/^(?:user|role):/.test(name) ? name : `user:${name}`));
  // A question may name somebody plainly, since its addressee is free text.
  const plain = deciders.flatMap((name) => (name.startsWith("user:") ? [name.slice(5)] : []));
  return {
    deciders: [...new Set(deciders)],
    addressees: [...new Set([...deciders, ...plain])],
    // What roles a principal bears, only the kernel's own token file says.
    mayResolve: plain.length > 0 || deciders.some((name) => resolvers.includes(name)),
  };
}
