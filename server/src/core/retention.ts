import type { KeepTimesShape, LegalHoldShape } from "@pawl/proto/log/v1/event_wire.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Run } from "./state.js";
import { isRunOpen } from "./transitions.js";

/** How long a namespace keeps what has ended, and whether it is held. */
export interface Retention {
  /** In ms from the end of what is kept; an absent one: for ever. */
  readonly keep: KeepTimesShape;
  /** Who holds it, when and why; undefined: nobody does. */
  readonly hold: LegalHoldShape | undefined;
}

/** All is kept for ever: what holds where nobody has said otherwise. */
export const keepForEver: Retention = {
  keep: {
    completedMs: undefined,
    failedMs: undefined,
    cancelledMs: undefined,
    terminatedMs: undefined,
    approvalsMs: undefined,
    operationsMs: undefined,
    tombstonesMs: undefined,
  },
  hold: undefined,
};

/** True when nothing more can happen to it but that a run begins once more. */
export function hasEnded(run: Run): boolean {
  return run.kind === "run"
    ? !isRunOpen(run.status)
    : run.unsettled.size === 0 && run.openProposals.size === 0;
}

/** When it ended, in ms since the Unix epoch; only asked of what has. */
export function endedAtMs(run: Run): number {
  if (run.kind === "run") {
    return run.closedAtMs;
  }
  const settled = run.operations.map(({ settledAtMs }) => settledAtMs);
  const ended = run.proposals.map((proposal) => proposal.endedAtMs);
  return Math.max(run.startedAtMs, ...settled, ...ended);
}

/** How long what ended so is kept, in ms; undefined: for ever. */
export function keptMs(run: Pick<Run, "kind" | "status">, { keep }: Retention): number | undefined {
  if (run.kind === "ledger") {
    return keep.operationsMs;
  }
  switch (run.status) {
    case RunStatus.COMPLETED:
      return keep.completedMs;
    case RunStatus.FAILED:
      return keep.failedMs;
    case RunStatus.CANCELLED:
      return keep.cancelledMs;
    case RunStatus.TERMINATED:
      return keep.terminatedMs;
    default:
      return undefined;
  }
}

/** Until when the audit of approvals needs it, in ms since the Unix epoch; 0: it does not. Only asked of what has ended. */
export function auditedUntilMs(run: Run, { keep }: Retention): number {
  return keep.approvalsMs === undefined || run.proposals.length === 0
    ? 0
    : endedAtMs(run) + keep.approvalsMs;
}
