import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import type { Operation, Proposal, Run } from "../state.js";
import { isProposalOpen, isSettled, operationStatusName } from "../transitions.js";
import { explainUnperformed } from "./explain-proposal.js";
import { formatCount, formatLength } from "./format-length.js";
import type { RecoveryView, Verdict } from "./recovery-report.js";
import { describeFailure, type Standpoint } from "./why.js";

/** Which class an operation is in, and why. */
export function judgeOperation(
  run: Run,
  operation: Operation,
  { nowMs }: Standpoint,
  view: RecoveryView,
): Verdict {
  if (operation.status === OperationStatus.NEEDS_REVIEW) {
    return [
      RecoveryClass.NEEDS_REVIEW,
      `Nobody knows whether its effect happened: it was called ${times(operation.calls)}. A person must say.`,
    ];
  }
  if (!isSettled(operation.status)) {
    return [RecoveryClass.WAITING, explainUnsettled(run, operation, nowMs)];
  }
  const { settledEvent = 0, callsSince = 0 } = view.facts.operations[operation.number] ?? {};
  const status = operationStatusName(operation.status);
  const isEarlier = view.sinceEvent > 0 && settledEvent <= view.sinceEvent;
  const isReused = consumerBeganAfter(operation, settledEvent, view);
  if (isEarlier) {
    return isReused
      ? [RecoveryClass.REUSED, `It was ${status} before, and the recorded outcome stood.`]
      : [RecoveryClass.UNTOUCHED, `It was ${status} before.`];
  }
  if (operation.reconciled) {
    return [RecoveryClass.RECONCILED, `${explainReconciled(operation)}; it is ${status}.`];
  }
  if (view.sinceEvent > 0 ? callsSince > 0 : operation.calls > 1) {
    return [
      RecoveryClass.RETRIED,
      `It was called ${times(operation.calls)} under the same key; it is ${status}.`,
    ];
  }
  return isReused
    ? [
        RecoveryClass.REUSED,
        `It was called once and is ${status}; the recorded outcome stood for every later attempt of the task.`,
      ]
    : [RecoveryClass.UNTOUCHED, `It was called once and is ${status}.`];
}

/** Which class an operation is in that was proposed and not begun, and why. */
export function judgeProposal(proposal: Proposal, nowMs: number): Verdict {
  const sentence = explainUnperformed(proposal, nowMs);
  if (isProposalOpen(proposal.status)) {
    return [RecoveryClass.WAITING, sentence];
  }
  return proposal.status === ProposalStatus.SUPERSEDED
    ? [RecoveryClass.SUPERSEDED, sentence]
    : [RecoveryClass.SKIPPED, sentence];
}

/** True when the task that called it last was handed out again after it was settled. */
function consumerBeganAfter(
  operation: Operation,
  settledEvent: number,
  { facts, sinceEvent }: RecoveryView,
): boolean {
  const task = facts.tasks[operation.task];
  const began = sinceEvent > 0 ? task?.leasedEvent : task?.againEvent;
  return settledEvent > 0 && (began ?? 0) > Math.max(settledEvent, sinceEvent);
}

function times(calls: number): string {
  return calls === 1 ? "once" : `${calls} times`;
}

/** What comes of an operation whose outcome is not known yet, as a sentence: nobody looks it up or asks before a frozen caller is out of the way. */
export function explainUnsettled(run: Run, operation: Operation, nowMs: number): string {
  const { callByMs, declaration } = operation;
  if (operation.status === OperationStatus.INTENDED) {
    return operation.callOpen
      ? `Its call may be under way${untilWords(callByMs - nowMs)}.`
      : "Its last call provably never left; the next attempt calls again.";
  }
  const last = operation.failure === undefined ? "" : ` (${describeFailure(operation.failure)})`;
  const settledMs = callByMs + declaration.settleMs;
  const after = settledMs > nowMs ? `, not before ${formatLength(settledMs - nowMs)} from now` : "";
  const next = run.orphaned.has(operation.number)
    ? `a person is asked about it${after}, since no attempt will find out`
    : `the next attempt settles it${after}`;
  return `The outcome of its last call is unknown${last}; ${next}.`;
}

function untilWords(leftMs: number): string {
  return leftMs > 0 ? ` for ${formatLength(leftMs)} more` : "";
}

function explainReconciled(operation: Operation): string {
  if (operation.status === OperationStatus.ABANDONED) {
    return "A person gave it up";
  }
  return `The outcome of its call was unknown, and was settled by a look-up, a late observation or a person after ${formatCount(operation.calls, "call")}`;
}
