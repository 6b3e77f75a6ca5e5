import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "../event.js";
import { decisiveFailures, hasRunFailed } from "../joins.js";
import { endsWithCaller } from "../left-calls.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import type { Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { beginRollbacks } from "./begin-rollbacks.js";
import { cancelCalls } from "./call-tasks.js";
import { closeChildren, tellParent } from "./children.js";
import { endNeedlessProposals } from "./end-proposal.js";
import { kernelFailure } from "./kernel-failure.js";
import { openReview } from "./open-review.js";
import { closeMootReuse } from "./reuse-operation.js";

/**
 * What must follow from the state as it now is, in the same commit: proposals that nobody needs any more end, a run without open tasks
 * ends, children end with their parent and tell it of their end, and an ended task leaves no outcome unknown without asking a person. Called after the events of every command were applied, until it
 * answers nothing.
 */
export function decideFollowUp(run: Run): readonly EventBody[] {
  if (run.kind === "ledger") {
    return nothing;
  }
  const needless = endNeedless(run);
  if (needless.length > 0) {
    return needless;
  }
  if (run.rollbacksDue.size > 0) {
    return beginRollbacks(run);
  }
  // Of a run that was asked to stop, what is still open was told, and may clean up.
  if (run.endedCallers.size > 0 && run.cancelRequestedAtMs === 0) {
    const ended = cancelLeftCalls(run);
    if (ended.length > 0) {
      return ended;
    }
  }
  if (isRunOpen(run.status) && run.openTasks === 0) {
    return [closeRun(run)];
  }
  if (run.strayChildren.size > 0) {
    return closeChildren(run);
  }
  if (run.parent !== undefined && !run.toldParent && !isRunOpen(run.status)) {
    return tellParent(run);
  }
  return run.orphaned.size === 0 ? nothing : reviewOrphan(run);
}

const nothing: readonly EventBody[] = [];

/** Proposals, and questions about what is reused, that nobody waits for any more. */
function endNeedless(run: Run): readonly EventBody[] {
  if (run.openProposals.size === 0 && run.rewinds.length === 0) {
    return nothing;
  }
  const ended = endNeedlessProposals(run);
  return ended.length > 0 || run.rewinds.length === 0 ? ended : closeMootReuse(run);
}

/** Whoever called them has ended, so nobody waits for them any more. One that was asked to stop keeps its grace, and one that was let go goes on. */
function cancelLeftCalls(run: Run): readonly EventBody[] {
  return [...run.endedCallers].flatMap((number) => {
    const caller = run.tasks[number];
    const open = [...(caller?.calls?.open ?? [])].filter((called) =>
      endsWithCaller(run.tasks[called]),
    );
    return caller === undefined ? [] : cancelCalls(run, caller, open, { principal: "" });
  });
}

function closeRun(run: Run): EventBody {
  if (run.timedOut) {
    const failure = kernelFailure("TimedOut", "PAWL_RUN_TIMED_OUT", run.cancelReason, false);
    return { case: "runClosed", value: { status: RunStatus.FAILED, failure, principal: "" } };
  }
  if (run.cancelRequestedAtMs !== 0) {
    const failure = kernelFailure("Cancelled", "PAWL_RUN_CANCELLED", run.cancelReason, false);
    return { case: "runClosed", value: { status: RunStatus.CANCELLED, failure, principal: "" } };
  }
  if (!hasRunFailed(run)) {
    return { case: "runClosed", value: { status: RunStatus.COMPLETED, principal: "" } };
  }
  return {
    case: "runClosed",
    value: { status: RunStatus.FAILED, failure: failureOf(run), principal: "" },
  };
}

function failureOf(run: Run): FailureShape {
  const [failed] = decisiveFailures(run);
  const name = failed === undefined ? "" : nameOfTask(run, failed.number);
  const failure = kernelFailure(
    "TaskFailed",
    "PAWL_TASK_FAILED",
    `Task "${name}" failed for good.`,
    false,
  );
  return failed?.failure === undefined
    ? failure
    : { ...failure, cause: failed.failure as FailureShape };
}

/** No attempt will find out any more: a person is asked at once, whatever else the run does. */
function reviewOrphan(run: Run): readonly EventBody[] {
  for (const number of run.orphaned) {
    const operation = run.operations[number];
    if (operation !== undefined) {
      const { task } = operation;
      return [openReview(run, { subject: ReviewSubject.OPERATION, operation, task })];
    }
  }
  return nothing;
}
