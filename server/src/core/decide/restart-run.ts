import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { limits } from "../limits.js";
import { findOpenEffect } from "../open-effects.js";
import type { Rejection } from "../rejection.js";
import { deadlineOf } from "../run-timeout.js";
import { freshRequests } from "../start-requests.js";
import type { Run } from "../state.js";
import { isRunOpen, operationStatusName } from "../transitions.js";
import { versionOf } from "./choose-version.js";
import { endProposal } from "./end-proposal.js";
import { decideTerminateRun } from "./end-run.js";
import { signalOfRestart } from "./send-signal.js";

/** Why an open run ends that a new start replaces. */
const replacedReason = "A new start replaced it.";

/**
 * Begins the next incarnation of a run; an open one is terminated first, in the same commit. Its operations must be settled: an effect that may
 * still happen belongs to the incarnation that asked for it. Refusals, in order: operations unsettled, overloaded, no current version,
 * those of a signal beside it.
 */
export function restartRun(run: Run, command: StartRun, ctx: DecideContext): Decision {
  const first = findOpenEffect(run);
  if (first !== undefined) {
    return reject(unsettled(run, first));
  }
  if (freshRequests(run.startRequests, ctx.nowMs).length >= limits.restartsPerDayMax) {
    return reject(tooOften(run));
  }
  const chosen = versionOf(command, ctx);
  if ("reason" in chosen) {
    return reject(chosen);
  }
  const signals = command.signal === undefined ? [] : signalOfRestart(run, command.signal, ctx);
  if ("reason" in signals) {
    return reject(signals);
  }
  const terminated = isRunOpen(run.status)
    ? decideTerminateRun(
        run,
        { kind: "TerminateRun", expectedVersion: undefined, reason: replacedReason },
        ctx,
      )
    : undefined;
  const ending = terminated?.accepted === true ? [...terminated.events, ...endProposals(run)] : [];
  const restarted: EventBody = {
    case: "runRestarted",
    value: {
      incarnation: run.incarnation + 1,
      plan: chosen.plan ?? command.plan.bytes,
      input: command.input,
      labels: command.labels.map((label) => ({ ...label })),
      traceparent: command.traceparent,
      principal: ctx.principal,
      requestId: command.requestId,
      deadline: deadlineOf(command, ctx.nowMs),
      codeVersion: chosen.codeVersion,
    },
  };
  return accept([...ending, restarted, ...signals]);
}

function endProposals(run: Run): EventBody[] {
  return [...run.openProposals].flatMap((number) => {
    const proposal = run.proposals[number];
    if (proposal === undefined) {
      return [];
    }
    const isApproved = proposal.status === ProposalStatus.APPROVED;
    const status = isApproved ? ProposalStatus.REVOKED : ProposalStatus.WITHDRAWN;
    return [endProposal(proposal, status, replacedReason, "")];
  });
}

function unsettled(run: Run, number: number): Rejection {
  const operation = run.operations[number];
  const status = operation === undefined ? "unknown" : operationStatusName(operation.status);
  const key = operation?.declaration.key ?? "";
  return {
    reason: "PAWL_OPERATIONS_UNSETTLED",
    message:
      `Expected every operation of run "${run.runId}" to be settled before it begins once more, but "${key}" is ${status}. ` +
      "Next: settle it (its review says how), then send the start again.",
    detail: {
      case: "illegalTransition",
      value: {
        entity: "operation",
        status,
        command: "StartRun",
        legal: ["OBSERVED", "REFUSED", "ABANDONED"],
      },
    },
  };
}

function tooOften({ runId }: Run): Rejection {
  const bound = `${limits.restartsPerDayMax} restarts of one run in 24 hours`;
  return {
    reason: "PAWL_OVERLOADED",
    message: `Expected at most ${bound}, but run "${runId}" had as many. Next: use a run id for each execution, or send it again later.`,
    detail: { case: "overloaded", value: { resource: "restarts", bound } },
    retryAfterMs: 60_000,
  };
}
