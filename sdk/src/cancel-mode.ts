/**
 * How one call is cancelled while the function goes on.
 *
 * - `request`: it is asked to stop, and nobody waits for it any more: its result throws `CallCancelled` at once.
 * - `wait`: it is asked to stop, and its result comes when it has ended: its value when it completed all the same, else its failure.
 * - `abandon`: it goes on to its end, and nobody waits for it any more: its result throws `CallCancelled` at once.
 */
export type CancelMode = "request" | "wait" | "abandon";

/** How a call is cancelled. */
export interface CancelCallOptions {
  /** Default `request`. */
  readonly mode?: CancelMode;
  /** Why, for whoever runs it. At most 1,000 bytes. */
  readonly reason?: string;
}

/** A task that was called. */
export interface Call<Output = unknown> {
  /** Its name in the run. */
  readonly task: string;
  /**
   * Waits for its end; asked again, it gives the same.
   *
   * @throws CallFailed as `ctx.call` does; CallCancelled when `cancel` said that nobody waits for it; or the attempt's end.
   */
  result(): Promise<Output>;
  /**
   * Cancels it. Asked again, only the first counts.
   *
   * Asked to stop, a task that nobody holds ends at once; a worker that holds it is told, and may clean up within its `cancelGrace`, also when the function returns
   * first. What it recorded with `ctx.onRollback` is undone. One that was abandoned goes on, and the run ends after it; that it fails does not matter then.
   */
  cancel(options?: CancelCallOptions): void;
}
