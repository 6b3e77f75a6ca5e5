import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import { type Run, taskVersion } from "../../core/state.js";
import type { Standpoint } from "../../core/view/why.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { readNamespace, requireId, requireNumber, requirePresent } from "../validate/fields.js";

/** What names a run in a request. */
export interface RunFields {
  readonly namespace: string;
  readonly runId: string;
}

/** The run that a request names, checked. */
export function targetOfRun({ namespace, runId }: RunFields): Target {
  const checked = readNamespace(namespace);
  requireId("run_id", runId, "run_id");
  return { kind: "run", namespace: checked, runId };
}

/**
 * A run by which a list is narrowed, when one is named (`runId` not empty). Refused by name when there is no such run: an empty list would
 * say that it has nothing of the kind.
 */
export async function requireListedRun(edge: Edge, { namespace, runId }: RunFields): Promise<void> {
  if (runId !== "") {
    requireId("run_id", runId, "run_id");
    await edge.kernel.view({ kind: "run", namespace, runId }, () => undefined);
  }
}

/** What names a lease in a request. */
export interface LeaseFields {
  readonly runId: string;
  readonly task: string;
  readonly leaseVersion: number;
}

/** A lease that a request names, checked. */
export interface NamedLease {
  readonly target: Target;
  readonly task: string;
  readonly leaseVersion: number;
}

/** Checks a lease that a request names; `field` is its path, with a full stop, or empty. */
export function leaseOf(namespace: string, lease: LeaseFields, field: string): NamedLease {
  const { runId, task, leaseVersion } = lease;
  requireId("run_id", runId, `${field}run_id`);
  requireId("task", task, `${field}task`);
  requireNumber(leaseVersion, `${field}lease_version`, { min: 1, max: 0xffff_ffff });
  return { target: { kind: "run", namespace, runId }, task, leaseVersion };
}

/** Checks the lease under which a request records, by the message that names it. */
export function leaseOfRequest(request: {
  readonly namespace: string;
  readonly lease?: LeaseFields | undefined;
}): NamedLease {
  const namespace = readNamespace(request.namespace);
  return leaseOf(namespace, requirePresent(request.lease, "lease"), "lease.");
}

/**
 * Whoever records or intends under a lease has taken its offer: the first such call acknowledges it. A lease that is over is told by
 * what follows, which names it as well.
 */
export async function acknowledge(
  edge: Edge,
  { target, task, leaseVersion }: NamedLease,
): Promise<void> {
  try {
    await edge.kernel.renewLease(target, task, leaseVersion);
  } catch (error) {
    if (!(error instanceof RejectionError)) {
      throw error;
    }
  }
}

/** How a task that a request names stands, as answers say it: its version and status, or neither when there is no such task. */
export function standingOf(run: Run, task: string): { version: number; status: TaskStatus } {
  const state = run.tasks[taskNumber(run, task) ?? -1];
  return state === undefined
    ? { version: 0, status: TaskStatus.UNSPECIFIED }
    : { version: taskVersion(run, state), status: state.status };
}

/** From where runs are looked at now; the number of each comes with it. */
export function standpointOf({ kernel }: Edge): Omit<Standpoint, "runNumber"> {
  const { isServed, currentVersion } = kernel;
  return { nowMs: kernel.info().nowMs, isServed, currentVersion };
}
