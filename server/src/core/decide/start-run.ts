import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { fingerprintConflict, type Rejection } from "../rejection.js";
import { deadlineOf } from "../run-timeout.js";
import type { Run } from "../state.js";
import { isRunOpen, runStatusName } from "../transitions.js";
import { type StartVersion, versionOf } from "./choose-version.js";
import { deletedRun } from "./deletion-refusals.js";
import { restartRun } from "./restart-run.js";
import { decideSendSignal, receivedSignal } from "./send-signal.js";

/**
 * Begins a run. An existing one with another fingerprint is refused whatever the policy. Else a request that began one of its incarnations
 * is answered `existing`, and any other by its policy. Refusals, in order: deleted, fingerprint conflict, run exists, operations unsettled, overloaded, no current
 * version, those of a signal beside it, which also reaches a run that exists. A run that another starts as its child exists for it only when it is that child.
 */
export function decideStartRun(
  run: Run | undefined,
  command: StartRun,
  ctx: DecideContext,
): Decision {
  if (run === undefined) {
    const chosen = versionOf(command, ctx);
    return "reason" in chosen
      ? reject(chosen)
      : accept([startedOf(command, chosen, ctx), ...signalsOf(command, ctx)]);
  }
  if (run.deletion !== undefined) {
    const isSame = equalBytes(run.fingerprint, command.fingerprint);
    return reject(isSame ? deletedRun(run, run.deletion) : conflictOf(run, command));
  }
  if (command.parent !== undefined) {
    return isChildOf(run, command.parent) ? acceptExisting() : reject(runExists(run));
  }
  if (!equalBytes(run.fingerprint, command.fingerprint)) {
    return reject(conflictOf(run, command));
  }
  if (isRemembered(run, command.requestId)) {
    return isLatest(run, command.requestId) ? signalExisting(run, command, ctx) : acceptExisting(); // Its signal came with the incarnation that it began; another is not for the present one.
  }
  if (command.onExisting === OnExisting.REFUSE) {
    return reject(runExists(run));
  }
  return mustRestart(run, command.onExisting)
    ? restartRun(run, command, ctx)
    : signalExisting(run, command, ctx);
}

/** True when a start begins a run that exists once more: then it is new work as a first start is. */
export function isRestart(run: Run, { requestId, onExisting }: StartRun): boolean {
  return !isRemembered(run, requestId) && mustRestart(run, onExisting);
}

function startedOf(
  command: StartRun,
  { plan, codeVersion }: StartVersion,
  ctx: DecideContext,
): Started {
  return {
    case: "runStarted",
    value: {
      namespace: command.namespace,
      runId: command.runId,
      incarnation: (command.after?.incarnation ?? 0) + 1,
      leaseVersionBase: command.after?.leaseVersion,
      workflow: command.workflow,
      plan: plan ?? command.plan.bytes,
      input: command.input,
      fingerprint: command.fingerprint,
      labels: command.labels.map((label) => ({ ...label })),
      traceparent: command.traceparent,
      principal: ctx.principal,
      requestId: command.requestId,
      parent: command.parent,
      deadline: deadlineOf(command, ctx.nowMs),
      codeVersion,
    },
  };
}

function isChildOf({ parent }: Run, other: NonNullable<StartRun["parent"]>): boolean {
  return parent?.run === other.run && parent.obligation === other.obligation;
}

type Started = Extract<EventBody, { readonly case: "runStarted" }>;

function isRemembered(run: Run, requestId: string): boolean {
  return requestId !== "" && run.startRequests.some((request) => request.requestId === requestId);
}

function isLatest(run: Run, requestId: string): boolean {
  return run.startRequests.at(-1)?.requestId === requestId;
}

function mustRestart({ status }: Run, policy: OnExisting): boolean {
  switch (policy) {
    case OnExisting.REPLACE_OPEN:
      return isRunOpen(status);
    case OnExisting.RESTART_FAILED:
      return !isRunOpen(status) && status !== RunStatus.COMPLETED;
    case OnExisting.RESTART_CLOSED:
      return !isRunOpen(status);
    default:
      return false;
  }
}

function conflictOf(run: Run, command: StartRun): Rejection {
  return fingerprintConflict({
    entity: "run",
    id: command.runId,
    recorded: run.fingerprint,
    received: command.fingerprint,
    differs: run.workflow === command.workflow ? "input" : "workflow",
  });
}

function runExists({ runId, incarnation, status }: Run): Rejection {
  const word = runStatusName(status);
  return {
    reason: "PAWL_RUN_EXISTS",
    message:
      `Expected no run "${runId}" before this start, but there is one, and it is ${word}. ` +
      "Next: use another id, or attach to it.",
    detail: { case: "runExists", value: { runId, incarnation, status: word } },
  };
}

/** The signal beside a start that begins an incarnation. */
function signalsOf({ signal }: StartRun, ctx: DecideContext): EventBody[] {
  return signal === undefined ? [] : [receivedSignal(signal, ctx)];
}

/** A signal beside a start that finds the run: the run exists, whatever the signal changes. */
function signalExisting(run: Run, { signal }: StartRun, ctx: DecideContext): Decision {
  if (signal === undefined) {
    return acceptExisting();
  }
  const command = { kind: "SendSignal", ...signal, expectedVersion: undefined } as const;
  const decision = decideSendSignal(run, command, ctx);
  return decision.accepted ? { ...decision, reply: { existing: true } } : decision;
}
