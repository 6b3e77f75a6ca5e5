/** How a run is told something by the code of another. */
export interface TellRunOptions {
  /** Tells several of one name apart, for example in a loop. 1 to 200 bytes. Absent: none. */
  readonly key?: string;
}

/** What became of a signal to another run. Recorded: code that runs again gets the same. */
export interface RunSignalled {
  /**
   * - `delivered`: the run has recorded it.
   * - `run-over`: the run had ended.
   * - `not-found`: there is no such run in this namespace.
   * - `full`: the run keeps as many signals as it may, and waits for none of this name. Send another one later, with another key.
   */
  readonly status: "delivered" | "run-over" | "not-found" | "full";
}

/** What became of asking another run to stop. Recorded: code that runs again gets the same. */
export interface RunAskedToStop {
  /**
   * - `delivered`: the run was asked to stop, or had been before. It may still take its time.
   * - `run-over`: the run had ended otherwise.
   * - `not-found`: there is no such run in this namespace.
   */
  readonly status: "delivered" | "run-over" | "not-found";
}
