import type { Duration } from "./duration.js";
import type { StartSignalOptions } from "./messages.js";
import type { SecretResolvers } from "./secret.js";
import type { RunVersion } from "./versions.js";

/** What a start does that finds a run under its id. */
export type OnExistingRun =
  | "attach"
  | "refuse"
  | "replace_open"
  | "restart_failed"
  | "restart_closed";

/** How a run is started. */
export interface StartOptions {
  /**
   * Id of the run: the identity of the start. The same id, workflow and input again changes nothing; another input is
   * a `Conflict`. 1 to 200 bytes. Absent: a UUID, made before anything is sent.
   */
  readonly runId?: string;
  /**
   * What to do with a run that has this id, with the same workflow and input. `attach` (the default) changes nothing; `refuse`
   * throws; `replace_open` terminates an open one and begins its next incarnation in one step; `restart_failed` begins the next
   * incarnation of one that ended without completing; `restart_closed` of any that has ended. Where nothing is to be done the
   * start attaches. A restart is refused while the outcome of an effect is unknown.
   */
  readonly onExisting?: OnExistingRun;
  /**
   * Tells this start from a second one: the same id again attaches, whatever became of the run meanwhile. 1 to 200 bytes, remembered for
   * 24 hours at least. Absent: a UUID for each call, so that only what the SDK itself sends again is taken for the same.
   */
  readonly requestId?: string;
  /**
   * How long the run may take in all, whatever it waits for, also while it is paused, through all incarnations that its function begins. Then it is stopped, what it
   * recorded to be undone is undone, and it fails with `PAWL_RUN_TIMED_OUT`. 1 ms to 10 years. Default: what the workflow says, else no limit. A start that finds the
   * run changes nothing about it.
   */
  readonly runTimeout?: Duration;
  /**
   * Which version of the workflow's code the run goes by. A number: that one. `current`: the one that is current in the commit that records the start; the run keeps it, and the same start sent again
   * finds it, whatever is current by then. `follow`: the one that is current whenever a worker takes the run's function. Refused with `PAWL_NO_CURRENT_VERSION` while none is current. Default: the
   * version of the definition.
   */
  readonly version?: RunVersion;
  /** For lists and people. At most 32, keys and values at most 200 bytes. */
  readonly labels?: Readonly<Record<string, string>>;
  /** W3C traceparent. Absent: the active span's, when OpenTelemetry is set up. */
  readonly traceparent?: string;
  /** A message that comes with the start, in the same commit; it reaches the run also when that exists already. At most 32 KiB. */
  readonly withSignal?: StartSignalOptions;
  /** Gives up waiting for the acknowledgement after this long; the start may still arrive. Default: never. */
  readonly timeout?: Duration;
  /** Gives up waiting when it aborts, with its reason. */
  readonly signal?: AbortSignal;
}

/** How an operation is performed without a worker. */
export interface ClientPerformOptions {
  /** The only scope without a lease: unique in the namespace, across runs and callers. */
  readonly scope: "namespace";
  /** Your own durable key, for example `invoice-4711`: the identity. 1 to 200 bytes. */
  readonly key: string;
  /** What is acted on. Part of the fingerprint. At most 1,024 bytes. Default empty. */
  readonly target?: string;
  /** Who looks up the credentials that the payload refers to (`secretRef`), by the name before the colon. Default: nobody. */
  readonly secrets?: SecretResolvers;
  /** How long to wait in all for another caller, for the kernel, or for a person. Default 2 minutes. */
  readonly timeout?: Duration;
  /** Gives up when it aborts, with its reason. A call that runs is let run. */
  readonly signal?: AbortSignal;
}
