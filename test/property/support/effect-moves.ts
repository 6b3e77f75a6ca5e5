import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type {
  Command,
  Finding,
  IntendOperation,
  ObservedOutcome,
  OperationLease,
  StartRun,
} from "@pawl/server/core/command.js";
import type { Operation, Run } from "@pawl/server/core/state.js";
import { failure, fingerprint, payload } from "../../core/support/values.js";
import { leaseOf, operationOf } from "./aims.js";
import { restsOn } from "./approval-moves.js";
import type { Move } from "./moves.js";
import { oneOf } from "./one-of.js";

const sinks = [SinkKind.IDEMPOTENT, SinkKind.RECONCILABLE, SinkKind.OPAQUE] as const;

/** The intent of a move: few names, so that many are intended again. */
export function intentOf(run: Run, move: Move): IntendOperation {
  const isLedger = run.kind === "ledger";
  const sinkKind = isLedger ? oneOf(sinks, move.which) : oneOf(sinks, move.pick);
  const isOfRun = move.pick >= 9;
  const lease = isLedger ? undefined : leaseOf(run, move);
  const rollsBack = run.tasks[Number(lease?.task ?? -1)]?.rollsBack !== undefined;
  return {
    kind: "IntendOperation",
    namespace: "default",
    lease,
    rollback: rollsBack ? move.pick % 3 !== 0 : move.pick === 11,
    // Now and then the latest id again: a resent intent.
    intentId: move.pick % 4 === 0 ? (run.operations[0]?.intentId ?? "i0") : `i${run.eventCount}`,
    name: isLedger ? "pay" : `op${sinkKind}`,
    scope: isLedger ? OperationScope.NAMESPACE : isOfRun ? OperationScope.RUN : OperationScope.TASK,
    key: isLedger ? "invoice-1" : undefined,
    target: "till",
    payload: payload({ amount: move.content }),
    fingerprint: fingerprint(10 + move.content),
    sinkKind,
    keyWindowMs: sinkKind === SinkKind.IDEMPOTENT ? 4000 : 0,
    settleMs: 2000,
    callTimeoutMs: 1000,
    seenThrough: 0,
    keepsLease: move.which % 2 === 0,
    ...restsOn(run, move),
  };
}

/** What a move says about a call: its outcome, or what a look-up found. */
export function outcomeOf(
  run: Run,
  verb: "observe" | "reconcile",
  move: Move,
): Exclude<Command, StartRun> {
  const wanted =
    verb === "observe"
      ? [OperationStatus.INTENDED, OperationStatus.NEEDS_REVIEW]
      : [OperationStatus.IN_DOUBT];
  const operation = operationOf(run, move, wanted);
  const operationKey = operation?.declaration.key ?? "none";
  if (verb === "observe") {
    const intentId = move.stale === 0 ? (operation?.intentId ?? "i0") : "i-stale";
    const outcome = observed(move);
    return { kind: "ObserveOperation", operationKey, intentId, outcome, seenThrough: move.pick };
  }
  const intentId = `r${run.eventCount}`;
  return {
    kind: "ReconcileOperation",
    lease: leaseForLookUp(run, operation, move),
    operationKey,
    intentId,
    lookedUpIntentId: move.stale === 0 ? (operation?.intentId ?? "i0") : "i-stale",
    finding: found(move),
    keepsLease: move.which % 2 === 0,
  };
}

function observed(move: Move): ObservedOutcome {
  const cases = ["result", "refused", "notSent", "unknown"] as const;
  const chosen = oneOf(cases, move.pick);
  return chosen === "result"
    ? { case: chosen, value: payload(move.content) }
    : { case: chosen, value: failure() };
}

function found(move: Move): Finding {
  const chosen = oneOf(["unknown", "found", "absent", "unknown"] as const, move.pick);
  if (chosen === "absent") {
    return { case: chosen };
  }
  return chosen === "found"
    ? { case: chosen, value: payload(move.content) }
    : { case: chosen, value: failure() };
}

function leaseForLookUp(
  run: Run,
  operation: Operation | undefined,
  move: Move,
): OperationLease | undefined {
  if (run.kind === "ledger") {
    return undefined;
  }
  const task = operation === undefined ? undefined : run.tasks[operation.task];
  const isAimed = move.aims && task?.status === TaskStatus.LEASED;
  return isAimed
    ? { task: task.number, leaseVersion: task.leaseVersion - move.stale }
    : leaseOf(run, move);
}
