import type { ChangeLegalHold, DeleteRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { findOpenEffect } from "../open-effects.js";
import { illegalTransition, type Rejection, staleVersion } from "../rejection.js";
import { auditedUntilMs, endedAtMs, hasEnded, keptMs, type Retention } from "../retention.js";
import type { Run } from "../state.js";
import { operationStatusName, runStatusName } from "../transitions.js";
import { held, needed } from "./deletion-refusals.js";

/** Decides what deletes, and what keeps from it. */
export function decideDeletion(
  run: Run,
  command: DeleteRun | ChangeLegalHold,
  ctx: DecideContext,
): Decision {
  return command.kind === "DeleteRun"
    ? decideDeleteRun(run, command, ctx)
    : decideChangeLegalHold(run, command, ctx);
}

/**
 * Deletes what has ended. What is deleted already is answered `existing`. Refusals, in order: stale version, not ended, held, operations unsettled,
 * proposals open, needed (open review, obligation, child, audit of approvals), and when it is the retention that asks: not due.
 */
function decideDeleteRun(run: Run, command: DeleteRun, ctx: DecideContext): Decision {
  if (run.deletion !== undefined) {
    return acceptExisting();
  }
  const retention = ctx.retentionOf(run.namespace);
  const refusal =
    refuseState(run, command) ??
    refuseHeld(run, retention) ??
    refuseOpen(run) ??
    refuseNeeded(run, retention, ctx) ??
    (command.whenDue ? refuseEarly(run, retention, ctx) : undefined);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const { tombstonesMs } = retention.keep;
  const value = {
    reason: command.reason,
    principal: command.whenDue ? "" : ctx.principal,
    tombstoneUntilMs: tombstonesMs === undefined ? 0 : ctx.nowMs + tombstonesMs,
  };
  return accept(command.dryRun ? [] : [{ case: "runDeleted", value }]);
}

/** Begins or ends the legal hold of a run. Refusal: stale version. What is so already is answered `existing`. */
function decideChangeLegalHold(run: Run, command: ChangeLegalHold, ctx: DecideContext): Decision {
  const { held: isHeld, reason, expectedVersion } = command;
  if ((run.legalHold !== undefined) === isHeld) {
    return acceptExisting();
  }
  if (expectedVersion !== undefined && expectedVersion !== run.version) {
    return reject(staleVersion("run", expectedVersion, run.version));
  }
  const value = { held: isHeld, reason, principal: ctx.principal };
  return accept([{ case: "legalHoldChanged", value }]);
}

function refuseState(run: Run, { expectedVersion }: DeleteRun): Rejection | undefined {
  if (expectedVersion !== undefined && expectedVersion !== run.version) {
    return staleVersion("run", expectedVersion, run.version);
  }
  if (run.kind === "ledger" || hasEnded(run)) {
    return undefined; // Why an operation of scope NAMESPACE has not ended is said below.
  }
  return illegalTransition("PAWL_ILLEGAL_TRANSITION", {
    entity: "run",
    status: runStatusName(run.status),
    command: "DeleteRun",
    legal: ["wait for its end", "CancelRun", "TerminateRun"],
  });
}

function refuseHeld(run: Run, { hold }: Retention): Rejection | undefined {
  if (run.legalHold !== undefined) {
    return held({ entity: "run", id: run.runId }, run.legalHold);
  }
  return hold === undefined ? undefined : held({ entity: "namespace", id: run.namespace }, hold);
}

function refuseOpen(run: Run): Rejection | undefined {
  const first = run.kind === "ledger" ? [...run.unsettled][0] : findOpenEffect(run);
  const operation = first === undefined ? undefined : run.operations[first];
  if (operation !== undefined) {
    const status = operationStatusName(operation.status);
    return illegalTransition(
      "PAWL_OPERATIONS_UNSETTLED",
      {
        entity: "operation",
        status,
        command: "DeleteRun",
        legal: ["OBSERVED", "REFUSED", "ABANDONED"],
      },
      `Expected every operation of "${idOf(run)}" to be settled before it is deleted, but "${operation.declaration.key}" is ${status}. ` +
        "Next: settle it (pawl reviews list), then delete.",
    );
  }
  if (run.openProposals.size > 0) {
    return illegalTransition(
      "PAWL_PROPOSALS_OPEN",
      { entity: "proposal", status: "open", command: "DeleteRun", legal: ["withdraw it"] },
      `Expected no open proposal of "${idOf(run)}" before it is deleted, but there are ${run.openProposals.size}. Next: withdraw or revoke them, then delete.`,
    );
  }
  return undefined;
}

function refuseNeeded(run: Run, retention: Retention, ctx: DecideContext): Rejection | undefined {
  const review = run.reviews.find(({ resolvedAtMs }) => resolvedAtMs === 0);
  if (review !== undefined) {
    return needed(idOf(run), "review", { name: `${ctx.runNumber}-${review.number}` });
  }
  const [owed] = run.openObligations;
  if (owed !== undefined) {
    return needed(idOf(run), "obligation", { name: receiverOf(run, owed) });
  }
  const [child] = run.openChildren;
  if (child !== undefined) {
    return needed(idOf(run), "child", { name: receiverOf(run, child) });
  }
  const untilMs = auditedUntilMs(run, retention);
  return untilMs > ctx.nowMs ? needed(idOf(run), "approvals", { untilMs }) : undefined;
}

function refuseEarly(run: Run, retention: Retention, ctx: DecideContext): Rejection | undefined {
  const kept = keptMs(run, retention);
  const untilMs = kept === undefined ? Number.POSITIVE_INFINITY : endedAtMs(run) + kept;
  return untilMs > ctx.nowMs
    ? needed(idOf(run), "retention", Number.isFinite(untilMs) ? { untilMs } : { name: "for ever" })
    : undefined;
}

function receiverOf(run: Run, obligation: number): string {
  return run.obligations[obligation]?.declaration.runId ?? "";
}

function idOf(run: Run): string {
  return run.kind === "run"
    ? run.runId
    : ((run.operations[0] ?? run.proposals[0])?.declaration.key ?? "");
}
