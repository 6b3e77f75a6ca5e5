import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { CodeVersionShape } from "@pawl/proto/v1/version_wire.js";
import type { EventBody, EventValue } from "../../core/event.js";
import { lostLeaseCause } from "../../core/lease-cause.js";
import { operationStatusName, runStatusName, taskStatusName } from "../../core/transitions.js";
import type { WatchedEvent } from "../../kernel/kernel-api.js";
import { type DeletionCase, partsOfDeletion } from "./deletion-history.js";
import { type IncarnationCase, partsOfIncarnation } from "./incarnation-history.js";
import { type ObligationCase, partsOfObligation } from "./obligation-history.js";
import { partId } from "./part-id.js";
import { type FailureLike, failureView, payloadOf } from "./payload-view.js";
import { type PlanCase, partsOfPlan } from "./plan-history.js";
import { type ProposalCase, partsOfProposal } from "./proposal-history.js";
import { proposalId } from "./proposal-id.js";
import { partsOfRewind, type RewindCase } from "./rewind-history.js";

type EventInit = MessageInitShape<typeof HistoryEventSchema>;

/** What differs from type to type; what is absent stays empty. */
export interface Parts {
  readonly task?: number;
  readonly attempt?: number;
  readonly leaseVersion?: number;
  readonly operation?: number;
  readonly step?: string;
  readonly review?: number;
  readonly proposal?: number;
  readonly payload?: Uint8Array | undefined;
  readonly failure?: FailureLike | undefined;
  readonly detail?: string;
  readonly principal?: string;
}

/** `pawl.v1.HistoryEvent` of a stored event. */
export function historyView(watched: WatchedEvent): EventInit {
  const { sequence, number, atMs, body } = watched.event;
  const parts = partsOf(body, watched);
  const { payload, failure } = parts;
  return {
    sequence: BigInt(sequence),
    number,
    at: timestampFromMs(atMs),
    type: body.case.charAt(0).toUpperCase() + body.case.slice(1),
    task: parts.task === undefined ? "" : watched.taskName(parts.task),
    attempt: parts.attempt ?? 0,
    leaseVersion: parts.leaseVersion ?? 0,
    operationKey: parts.operation === undefined ? "" : watched.operationKey(parts.operation),
    step: parts.step ?? "",
    reviewId:
      parts.review === undefined
        ? ""
        : partId(watched.runNumber, parts.review, watched.incarnation),
    proposalId: parts.proposal === undefined ? "" : proposalId(watched.runNumber, parts.proposal),
    detail: parts.detail ?? "",
    principal: parts.principal ?? "",
    ...(payload === undefined ? {} : { payload: payloadOf(payload) }),
    ...(failure === undefined ? {} : { failure: failureView(failure) }),
  };
}

function partsOf(body: EventBody, { obligation }: WatchedEvent): Parts {
  switch (body.case) {
    case "runStarted":
    case "runRestarted":
    case "cancelRequested":
    case "runClosed":
    case "runPaused":
    case "runResumed":
    case "runFaulted":
    case "storeCreated":
    case "checkpointSealed":
    case "epochBegan":
    case "namespaceCreated":
    case "currentVersionChanged":
    case "credentialPolicyChanged":
    case "kernelStarted":
    case "signalReceived":
    case "inputAnswered":
      return partsOfRun(body);
    case "runDeleted":
    case "runPurged":
    case "legalHoldChanged":
    case "retentionChanged":
      return partsOfDeletion(body);
    case "obligationMade":
    case "obligationSettled":
    case "childEnded":
      return partsOfObligation(body, obligation);
    case "operationIntended":
    case "operationObserved":
    case "operationDoubted":
    case "operationReconciled":
    case "reviewOpened":
    case "reviewResolved":
      return partsOfOperation(body);
    case "proposalMade":
    case "proposalDecided":
    case "proposalEnded":
      return partsOfProposal(body);
    case "runContinued":
    case "runTimedOut":
      return partsOfIncarnation(body);
    case "planRevised":
    case "reportCameLate":
      return partsOfPlan(body);
    case "runRewound":
    case "operationReused":
      return partsOfRewind(body);
    default:
      return partsOfTask(body);
  }
}

type RunCase =
  | "runStarted"
  | "runRestarted"
  | "cancelRequested"
  | "runPaused"
  | "runResumed"
  | "runClosed"
  | "runFaulted"
  | "storeCreated"
  | "checkpointSealed"
  | "epochBegan"
  | "namespaceCreated"
  | "currentVersionChanged"
  | "credentialPolicyChanged"
  | "kernelStarted"
  | "signalReceived"
  | "inputAnswered";
type OperationCase =
  | "operationIntended"
  | "operationObserved"
  | "operationDoubted"
  | "operationReconciled"
  | "reviewOpened"
  | "reviewResolved";

function partsOfRun(body: Extract<EventBody, { case: RunCase }>): Parts {
  switch (body.case) {
    case "runStarted": {
      const { workflow, input, principal, parent, codeVersion } = body.value;
      const of = parent === undefined ? "" : `, as a child of run "${parent.runId}"`;
      const at = versionWords(codeVersion);
      return { payload: input, detail: `Workflow "${workflow}" began${of}${at}.`, principal };
    }
    case "signalReceived": {
      const { name, payload, principal, from, update } = body.value;
      return {
        payload,
        detail: `${update ? "Update" : "Signal"} "${name}" came${from === undefined ? "" : ` from run "${from.runId}"`}.`,
        principal,
      };
    }
    case "inputAnswered": {
      const { input, answer, principal } = body.value;
      return answer.case === "given"
        ? { payload: answer.value, detail: `Input request ${input} was answered.`, principal }
        : {
            detail: `Input request ${input} was declined${quoted(answer.value ?? "")}.`,
            principal,
          };
    }
    case "runRestarted": {
      const { incarnation, input, principal, codeVersion } = body.value;
      return {
        payload: input,
        detail: `It begins once more, as incarnation ${incarnation}${versionWords(codeVersion)}.`,
        principal,
      };
    }
    case "cancelRequested": {
      const { reason, principal, from } = body.value;
      return { detail: `The run was asked to stop${fromRun(from)}${quoted(reason)}.`, principal };
    }
    case "runPaused":
    case "runResumed": {
      const { reason, principal } = body.value;
      const what = body.case === "runPaused" ? "was paused" : "goes on";
      return { detail: `The run ${what}${quoted(reason)}.`, principal };
    }
    case "runClosed": {
      const { status, failure, principal } = body.value;
      return { failure, detail: `The run is ${runStatusName(status)}.`, principal };
    }
    case "credentialPolicyChanged": {
      const { namespace, mode, principal } = body.value;
      const does = credentialWords[mode] ?? `dealt with by mode ${mode}`;
      return {
        detail: `Credentials in content of namespace "${namespace}" are ${does}.`,
        principal,
      };
    }
    case "currentVersionChanged": {
      const { workflow, codeVersion, principal, namespace } = body.value;
      const what = codeVersion === 0 ? "none any more" : `version ${codeVersion}`;
      const detail = `Of workflow "${workflow}" in namespace "${namespace}" is current: ${what}.`;
      return { detail, principal };
    }
    case "kernelStarted": {
      const { kernelVersion, openRuns, leases } = body.value;
      const detail = `Kernel ${kernelVersion} opened the store, with ${openRuns} open runs and ${leases} leases.`;
      return { detail };
    }
    case "runFaulted":
      return {
        detail: `The kernel's own code failed at ${body.value.command}: ${body.value.error}`,
      };
    default:
      return {};
  }
}

/** Said only where the start asked for the current version: else its plan says it. */
function versionWords(codeVersion: CodeVersionShape | undefined): string {
  if (codeVersion === undefined) {
    return "";
  }
  const { mode, version } = codeVersion;
  return mode === VersionMode.FOLLOW
    ? ", following the current version"
    : `, at version ${version} for good`;
}

function partsOfTask(
  body: Exclude<
    EventBody,
    {
      case:
        | RunCase
        | OperationCase
        | ProposalCase
        | ObligationCase
        | IncarnationCase
        | PlanCase
        | DeletionCase
        | RewindCase;
    }
  >,
): Parts {
  switch (body.case) {
    case "taskLeased":
      return partsOfLease(body.value);
    case "leaseEnded": {
      const { failure, reason, next, note } = body.value;
      const why = note === "" ? "" : `: "${note}"`;
      const detail = `The lease ended (${lostLeaseCause(reason)}${why}); the task is ${taskStatusName(next)}.`;
      return { ...attemptOf(body.value), failure, detail };
    }
    case "taskCompleted":
      return { ...attemptOf(body.value), payload: body.value.output };
    case "attemptFailed": {
      const { failure, next } = body.value;
      return { ...attemptOf(body.value), failure, detail: `The task is ${taskStatusName(next)}.` };
    }
    case "taskChanged":
      return partsOfChange(body.value);
    case "taskReady":
      return { task: body.value.task };
    case "taskTimedOut":
      return { task: body.value.task, failure: body.value.failure };
    case "taskCancelled":
      return { ...attemptOf(body.value), failure: body.value.failure };
    case "taskSuspended": {
      const { opened, waits, next } = body.value;
      const fresh = opened.map(({ name, key }) => quotedName(name, key));
      const begun = fresh.length === 0 ? "" : `, newly for ${fresh.slice(0, 5).join(", ")}`;
      const detail = `It waits for ${waits.length === 1 ? "1 thing" : `${waits.length} things`}${begun}; the task is ${taskStatusName(next)}.`;
      return { ...leaseOf(body.value), detail };
    }
    case "waitsOpened": {
      const { opened } = body.value;
      const names = opened.slice(0, 5).map(({ name, key }) => quotedName(name, key));
      return { ...leaseOf(body.value), detail: `It waits for ${names.join(", ")} as it goes on.` };
    }
    case "tasksCalled": {
      const { called } = body.value;
      const names = called.slice(0, 5).map(({ name }) => `"${name}"`);
      const rest = called.length > 5 ? ` and ${called.length - 5} more` : "";
      return { ...leaseOf(body.value), detail: `It called ${names.join(", ")}${rest}.` };
    }
    case "callsCancelled": {
      const { task, called } = body.value;
      return { task, detail: `${countTasks(called.length)} that it called ended unwanted.` };
    }
    case "callsStopping": {
      const { task, called, reason } = body.value;
      const why = reason === "" ? "" : ` ("${reason}")`;
      return { task, detail: `It asked ${countTasks(called.length)} to stop${why}.` };
    }
    case "callsAbandoned": {
      const { task, called } = body.value;
      return { task, detail: `It let ${countTasks(called.length)} go on without it.` };
    }
    case "rollbackBegan": {
      const { task, rollback } = body.value;
      return { task, detail: `Task "${rollback?.name}" rolls back what it did.` };
    }
    case "waitEnded": {
      const { task, wait, outcome } = body.value;
      return { task, detail: `Wait ${wait} of the run ended: ${endWord(outcome.case)}.` };
    }
    case "stepRecorded": {
      const { name, key, value, failure, rollback } = body.value;
      const step = key === undefined ? name : `${name}/${key}`;
      const undo =
        rollback === undefined
          ? {}
          : {
              detail: `Operation "${rollback.operation}" undoes it, should the task not complete.`,
            };
      const told = { ...undo, ...messageWord(body.value) };
      return { ...leaseOf(body.value), step, payload: value, failure, ...told };
    }
  }
}

function partsOfLease({
  task,
  leaseVersion,
  attempt,
  worker,
  codeVersion,
}: EventValue<"taskLeased">): Parts {
  const at = codeVersion === 0 ? "" : `, at version ${codeVersion}, which was current`;
  return { task, leaseVersion, attempt, detail: `Worker "${worker}" got it${at}.` };
}

/** What a step that publishes its value or answers an update says to others. */
function messageWord({ publishes, answers, failure }: EventValue<"stepRecorded">): {
  readonly detail?: string;
} {
  if (publishes !== undefined) {
    return { detail: `It published "${publishes}".` };
  }
  return answers === undefined
    ? {}
    : { detail: `It ${failure === undefined ? "accepted" : "refused"} update ${answers}.` };
}

function quotedName(name: string, key: string | undefined): string {
  return `"${key === undefined ? name : `${name}/${key}`}"`;
}

type WaitEnd = Extract<EventBody, { case: "waitEnded" }>["value"]["outcome"]["case"];

function endWord(end: WaitEnd): string {
  switch (end) {
    case "timerFired":
      return "its time has come";
    case "timedOut":
      return "nothing came in time";
    case "proposal":
      return "its proposal is not pending any more";
    case "signalTaken":
      return "a signal or an update was there";
    case "inputGiven":
      return "the answer is there";
    case "obligation":
      return "another run has answered";
    case "child":
      return "a child has ended, or could not be started";
    case "review":
      return "its review is resolved";
    case undefined:
      return "for a reason that this version does not know";
  }
}

const changeWords: Readonly<Record<string, string>> = {
  backoffSkipped: "skipped its backoff",
  completed: "completed it by hand",
  failed: "failed it by hand",
  attemptsReset: "gave it all its attempts anew",
  policy: "changed its policy",
};

function partsOfChange({ task, change, reason, principal }: EventValue<"taskChanged">): Parts {
  const detail = `A person ${changeWords[change.case ?? ""] ?? "changed it"}${quoted(reason)}.`;
  const payload = change.case === "completed" ? change.value.output : undefined;
  return { task, payload, detail, principal };
}

function attemptOf(value: {
  readonly task: number;
  readonly leaseVersion: number;
  readonly attempt: number;
}): Parts {
  return { task: value.task, leaseVersion: value.leaseVersion, attempt: value.attempt };
}

function leaseOf(value: { readonly task: number; readonly leaseVersion: number }): Parts {
  return { task: value.task, leaseVersion: value.leaseVersion };
}

function partsOfOperation(body: Extract<EventBody, { case: OperationCase }>): Parts {
  switch (body.case) {
    case "operationIntended": {
      const { operation, leaseVersion, declaration, intentId, task, principal, consumed } =
        body.value;
      const approval = consumed === undefined ? "" : " Its approval was consumed.";
      const detail = `Call "${intentId}" may begin.${approval}`;
      const holder = leaseVersion === 0 ? {} : { task, leaseVersion };
      const rests = consumed === undefined ? {} : { proposal: consumed.proposal };
      return { operation, payload: declaration?.payload, detail, principal, ...holder, ...rests };
    }
    case "operationObserved": {
      const { operation, outcome, next, late } = body.value;
      const when = late ? " after its lease had ended" : "";
      const detail = `The call ended${when}; the operation is ${operationStatusName(next)}.`;
      return outcome.case === "result"
        ? { operation, payload: outcome.value, detail }
        : { operation, failure: outcome.value, detail };
    }
    case "operationDoubted":
      return {
        operation: body.value.operation,
        detail: "Whether the effect happened became unknown.",
      };
    case "operationReconciled": {
      const { operation, finding, next } = body.value;
      const detail = `A look-up told; the operation is ${operationStatusName(next)}.`;
      if (finding.case === "found") {
        return { operation, payload: finding.value, detail };
      }
      return finding.case === "unknown"
        ? { operation, failure: finding.value, detail }
        : { operation, detail };
    }
    case "reviewOpened":
      return { review: body.value.review, detail: body.value.known };
    case "reviewResolved": {
      const { review, result, reason, principal } = body.value;
      return { review, payload: result, detail: reason, principal };
    }
  }
}

function fromRun(from: { readonly runId: string } | undefined): string {
  return from === undefined ? "" : ` by run "${from.runId}"`;
}

function quoted(reason: string): string {
  return reason === "" ? "" : ` ("${reason}")`;
}

function countTasks(count: number): string {
  return count === 1 ? "1 task" : `${count} tasks`;
}

const credentialWords: Readonly<Record<number, string>> = {
  [CredentialMode.REFUSE]: "refused",
  [CredentialMode.REDACT]: "redacted",
  [CredentialMode.ALLOW]: "allowed",
};
