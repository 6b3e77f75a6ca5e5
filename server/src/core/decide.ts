import type { Command, StartRun } from "./command.js";
import type { DecideContext } from "./context.js";
import { decideCallTasks } from "./decide/call-tasks.js";
import { decideChangeTask } from "./decide/change-task.js";
import { decideEndChild } from "./decide/children.js";
import { decideContinueRun } from "./decide/continue-run.js";
import { decideDecideProposal } from "./decide/decide-proposal.js";
import { decideDeletion } from "./decide/delete-run.js";
import { deletedRun } from "./decide/deletion-refusals.js";
import { decideEndLease } from "./decide/end-lease.js";
import {
  decideExpireProposals,
  decideRevokeApproval,
  decideWithdrawProposal,
} from "./decide/end-proposal.js";
import { decideCancelRun, decideTerminateRun } from "./decide/end-run.js";
import { decideExpireRun } from "./decide/expire-run.js";
import { decideFireDeadline } from "./decide/fire-deadline.js";
import { decideIntendOperation } from "./decide/intend-operation.js";
import { decideLeaseTask } from "./decide/lease-task.js";
import { decideMakeObligation } from "./decide/make-obligation.js";
import { decideObserveOperation } from "./decide/observe-operation.js";
import { decidePauseRun, decideResumeRun } from "./decide/pause-run.js";
import { decideProposeAction } from "./decide/propose-action.js";
import { decideProvideInput } from "./decide/provide-input.js";
import { decideReconcileOperation } from "./decide/reconcile-operation.js";
import { decideRecordStep } from "./decide/record-step.js";
import { decideCompleteTask, decideConfirmCancel, decideFailTask } from "./decide/report.js";
import { decideResolveReview } from "./decide/resolve-review.js";
import { decideRevisePlan } from "./decide/revise-plan.js";
import { decideRetryRun, decideRewindRun } from "./decide/rewind-run.js";
import { decideSendSignal } from "./decide/send-signal.js";
import { decideSettleObligation } from "./decide/settle-obligation.js";
import { decideStartRun } from "./decide/start-run.js";
import { decideDeclareWaits, decideSuspendTask } from "./decide/suspend-task.js";
import { type Decision, reject } from "./decision.js";
import type { Run } from "./state.js";

/**
 * Decides one command on one run: events, or a rejection. Synchronous and pure: the same state, command and context
 * always give the same answer, and nothing is changed here. The caller applies the events before it decides the next command.
 */
export function decide(
  run: Run,
  command: Exclude<Command, StartRun>,
  ctx: DecideContext,
): Decision {
  if (run.deletion !== undefined && command.kind !== "DeleteRun") {
    return reject(deletedRun(run, run.deletion));
  }
  switch (command.kind) {
    case "DeleteRun":
    case "ChangeLegalHold":
      return decideDeletion(run, command, ctx);
    case "LeaseTask":
      return decideLeaseTask(run, command);
    case "EndLease":
      return decideEndLease(run, command, ctx);
    case "CompleteTask":
      return decideCompleteTask(run, command, ctx);
    case "FailTask":
      return decideFailTask(run, command, ctx);
    case "ConfirmCancel":
      return decideConfirmCancel(run, command, ctx);
    case "ContinueRun":
      return decideContinueRun(run, command, ctx);
    case "SendSignal":
      return decideSendSignal(run, command, ctx);
    case "ProvideInput":
      return decideProvideInput(run, command, ctx);
    case "SuspendTask":
      return decideSuspendTask(run, command, ctx);
    case "DeclareWaits":
      return decideDeclareWaits(run, command, ctx);
    case "CallTasks":
      return decideCallTasks(run, command, ctx);
    case "RecordStep":
      return decideRecordStep(run, command, ctx);
    case "IntendOperation":
      return decideIntendOperation(run, command, ctx);
    case "ObserveOperation":
      return decideObserveOperation(run, command, ctx);
    case "ReconcileOperation":
      return decideReconcileOperation(run, command, ctx);
    case "FireDeadline":
      return decideFireDeadline(run, command, ctx);
    case "ChangeTask":
      return decideChangeTask(run, command, ctx);
    case "PauseRun":
      return decidePauseRun(run, command, ctx);
    case "ResumeRun":
      return decideResumeRun(run, command, ctx);
    case "RewindRun":
    case "RetryRun":
    case "CancelRun":
    case "TerminateRun":
    case "ExpireRun":
      return decideAboutEnd(run, command, ctx);
    case "ResolveReview":
      return decideResolveReview(run, command, ctx);
    case "ProposeAction":
      return decideProposeAction(run, command, ctx);
    case "DecideProposal":
      return decideDecideProposal(run, command, ctx);
    case "WithdrawProposal":
      return decideWithdrawProposal(run, command, ctx);
    case "RevokeApproval":
      return decideRevokeApproval(run, command, ctx);
    case "ExpireProposals":
      return decideExpireProposals(run, ctx);
    case "MakeObligation":
      return decideMakeObligation(run, command, ctx);
    case "SettleObligation":
      return decideSettleObligation(run, command);
    case "EndChild":
      return decideEndChild(run, command);
    case "RevisePlan":
      return decideRevisePlan(run, command, ctx);
  }
}

export { decideStartRun };

type EndCommand = Extract<
  Command,
  { readonly kind: "RewindRun" | "RetryRun" | "CancelRun" | "TerminateRun" | "ExpireRun" }
>;

/** Commands by which a run ends, or is open again. */
function decideAboutEnd(run: Run, command: EndCommand, ctx: DecideContext): Decision {
  switch (command.kind) {
    case "RewindRun":
      return decideRewindRun(run, command, ctx);
    case "RetryRun":
      return decideRetryRun(run, command, ctx);
    case "CancelRun":
      return decideCancelRun(run, command, ctx);
    case "TerminateRun":
      return decideTerminateRun(run, command, ctx);
    case "ExpireRun":
      return decideExpireRun(run, ctx);
  }
}
