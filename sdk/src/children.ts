import type { CancelCallOptions } from "./cancel-mode.js";
import type { Duration } from "./duration.js";
import type { RunVersion } from "./versions.js";

/** How a child run is started. */
export interface ChildOptions {
  /** Its name in the task. Default: that of what is started. 1 to 200 bytes. */
  readonly name?: string;
  /** Tells several of one name apart, for example in a loop. 1 to 200 bytes. Absent: none. */
  readonly key?: string;
  /**
   * What becomes of it when this run ends first, however it ends, or begins once more: it is asked to stop (`cancel`, the default), ended at once
   * (`terminate`), or goes on by itself (`detach`).
   */
  readonly parentClose?: "cancel" | "terminate" | "detach";
  /** How long it may take in all; unless it is detached, never longer than this run may. Default: what its workflow says, else as long as this run. */
  readonly runTimeout?: Duration;
  /**
   * Which version of its workflow's code it goes by, as `StartOptions.version` says. Default: in a run that follows, `follow`, or the version of its definition while none of its workflow is current; for the
   * workflow of this run itself, the version that runs; else the version of its definition.
   */
  readonly version?: RunVersion;
}

/** A child run that was started. */
export interface ChildRun<Output = unknown> {
  /** Its id, which follows from this run's and the child's name: the same however often the code runs. */
  readonly runId: string;
  /**
   * Waits for its end, as `ctx.sleep` waits; asked again, it gives the same.
   *
   * @throws RunFailed, RunCancelled, RunTerminated as it ended; PawlError `PAWL_RUN_EXISTS` when a run that is no child of this one has its id; or the attempt's end.
   */
  result(): Promise<Output>;
  /**
   * Cancels it while this run goes on: asked again, only the first counts. `request` and `wait` ask it to stop, once, as `ctx.cancelRun` does; `abandon` asks nothing. After `request` and
   * `abandon` its result throws `CallCancelled`. What becomes of it when this run ends is what `parentClose` said.
   *
   * @throws what `ctx.cancelRun` throws.
   */
  cancel(options?: CancelCallOptions): Promise<void>;
}
