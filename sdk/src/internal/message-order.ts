import type { Lease } from "./lease.js";
import type { ItemBody, WorkItem } from "./work-item.js";

/** The kernel handles a message kind by kind, in this order (`Work` in worker_service.proto). */
const RANKS: Readonly<Record<ItemBody["kind"], number>> = {
  step: 0,
  observation: 1,
  reconciliation: 2,
  intent: 3,
  call: 4,
  wait: 5,
  obligation: 6,
  child: 7,
  report: 8,
  suspend: 9,
  release: 10,
};

/**
 * Which items may share a message. What a task recorded is told in the order in which it did: of an operation's result and a step after it the step must not be
 * recorded first, else the function would be given the two the other way round when it runs again.
 */
export class MessageOrder {
  readonly #lastRanks = new Map<Lease, number>();

  /** Takes an item into the message, unless the kernel would handle it before one of the same lease that was queued earlier. */
  takes({ lease, body: { kind } }: Pick<WorkItem, "lease" | "body">): boolean {
    const rank = RANKS[kind];
    const last = this.#lastRanks.get(lease);
    if (last !== undefined && rank < last) return false;
    if (rank !== last) this.#lastRanks.set(lease, rank);
    return true;
  }
}
