import { currentKind, followingKind, splitKind } from "../core/plan/code-version.js";
import { queueKey } from "./dispatcher.js";
import type { Session } from "./session.js";

/**
 * Keys of the ready queues that a session serves: of every kind that it named, and where that is a workflow at the version that is current, of
 * what follows it.
 */
export function queueKeysOf(
  { namespace, serves }: Pick<Session, "namespace" | "serves">,
  current: (namespace: string, workflow: string) => number,
): string[] {
  const keys: string[] = [];
  for (const { kind, queue } of serves) {
    keys.push(queueKey(namespace, queue === "" ? kind : queue, kind));
    const named = splitKind(kind);
    if (named !== undefined && current(namespace, named.workflow) === named.codeVersion) {
      const following = currentKind(named.workflow);
      // A queue named like the kind is the one that a task has whose plan names none.
      const followed = queue === "" || queue === kind ? following : queue;
      keys.push(queueKey(namespace, followed, followingKind(following)));
    }
  }
  return keys;
}

/** True when a session serves some version of a workflow. */
export function servesAnyOf({ serves }: Pick<Session, "serves">, workflow: string): boolean {
  return serves.some(({ kind }) => splitKind(kind)?.workflow === workflow);
}
