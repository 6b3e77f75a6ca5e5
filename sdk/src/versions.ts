import type { TaskRef } from "./task.js";

/**
 * Which version of its workflow's code a run goes by: a number, kept for good; `current`, the one that is current when the start is recorded, kept for good; or `follow`, the one
 * that is current whenever a worker takes the run's function.
 */
export type RunVersion = number | "current" | "follow";

/** The current version of a workflow. */
export interface CurrentVersionInfo {
  /** Name of the workflow. */
  readonly workflow: string;
  /** The version that is current. 0: none is. */
  readonly current: number;
  /** How often it was changed: give it as `expectedVersion`. */
  readonly version: number;
  /** Who changed it last, as the connection proved. Empty when nobody did. */
  readonly changedBy: string;
  /** Worker sessions that are connected and serve the version. */
  readonly workers: number;
}

/** How the current version of a workflow is changed. */
export interface VersionChangeOptions {
  /** How often it must have been changed before. 0: never. Absent: whatever is current. */
  readonly expectedVersion?: number;
}

/** A workflow, by its name or its definition. */
export type NamedWorkflow = string | Pick<TaskRef, "name">;

/** The current versions of the workflows of a namespace. To change them takes the role `operator`. */
export interface Versions {
  /**
   * Makes a version current, durably: starts that ask for the current version get it from then on, and runs that follow go on with it. No worker need serve it yet.
   *
   * @throws Rejected `PAWL_STALE_VERSION` when it is not as expected.
   */
  set(
    workflow: NamedWorkflow,
    version: number,
    options?: VersionChangeOptions,
  ): Promise<CurrentVersionInfo>;
  /** Leaves a workflow without one: starts that ask for it are refused, and runs that follow wait. @throws Rejected `PAWL_STALE_VERSION` */
  remove(workflow: NamedWorkflow, options?: VersionChangeOptions): Promise<CurrentVersionInfo>;
  /** What is current of a workflow. */
  get(workflow: NamedWorkflow): Promise<CurrentVersionInfo>;
  /** All workflows of the namespace that have a current version, in the order in which one was first set. */
  list(): AsyncIterable<CurrentVersionInfo>;
}
