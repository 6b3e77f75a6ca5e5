/** Commands about deletion: of runs, and of operations of scope NAMESPACE. */

/** Deletes what has ended. */
export interface DeleteRun {
  readonly kind: "DeleteRun";
  readonly expectedVersion: number | undefined;
  readonly reason: string;
  /** True: it only tells whether it would be. */
  readonly dryRun: boolean;
  /** True: only when it has been kept as long as its namespace says. Made so by the kernel alone. */
  readonly whenDue: boolean;
}

/** Begins or ends the legal hold of a run. */
export interface ChangeLegalHold {
  readonly kind: "ChangeLegalHold";
  readonly expectedVersion: number | undefined;
  readonly held: boolean;
  readonly reason: string;
}
