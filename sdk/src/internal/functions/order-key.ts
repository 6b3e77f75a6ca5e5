import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";

/**
 * The place of something that a function was given, among all that it was given. What ended outside of it (a wait, a called task) is placed by the event that
 * recorded it; what it did itself (a step, an operation) comes right after the last outcome that it had been given by then. So whoever reads the records later gives
 * everything in the order in which it was given the first time.
 */
export interface OrderKey {
  /** Event number of the outcome, or of the last outcome given before. */
  readonly after: number;
  /** False: an outcome itself. */
  readonly isOwn: boolean;
  /** Among what has the same place: the event number, or a later number while it has none yet. */
  readonly number: number;
}

/** Numbers of what is not recorded yet: beyond all event numbers. */
export const LIVE_NUMBERS: number = 2 ** 40;

/** Negative when `one` is given before `other`. */
export function compareKeys(one: OrderKey, other: OrderKey): number {
  return (
    one.after - other.after || Number(one.isOwn) - Number(other.isOwn) || one.number - other.number
  );
}

/** Number of the last record of an offer that the code is given. What it published, and how to undo what it did, is given to nobody. */
export function recordedThrough({ outcomes, steps }: Pick<Offer, "outcomes" | "steps">): number {
  const step = steps.findLast(
    ({ publishes, rollback }) => publishes === undefined && rollback === undefined,
  );
  return Math.max(0, outcomes.at(-1)?.number ?? 0, step?.number ?? 0);
}
