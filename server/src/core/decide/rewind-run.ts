import { RewindKind } from "@pawl/proto/log/v1/event_pb.js";
import type { RunDeadlineShape } from "@pawl/proto/log/v1/event_wire.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { RetryRun, RewindRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { type Dropping, dropsProposal } from "../dropped-records.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { limits } from "../limits.js";
import {
  fingerprintConflict,
  illegalTransition,
  notFound,
  type Rejection,
  staleVersion,
} from "../rejection.js";
import type { RewindNote, Run } from "../state.js";
import { isRunOpen, runStatusName, taskStatusName } from "../transitions.js";
import { closeTaskReview } from "./close-reviews.js";
import { endProposal } from "./end-proposal.js";
import { runIsFull } from "./find.js";
import { findPoint } from "./rewind-point.js";
import { refuseRewind } from "./rewind-refusals.js";
import { reportRewind } from "./rewind-report.js";
import { type RewindScope, scopeOfRetry } from "./rewind-scope.js";
import { takeReturned } from "./take-returned.js";
import { wakeWaiters } from "./wake-waiters.js";

/** Why a proposal ends that was made after the point. */
const rewoundReason = "The run went on from an earlier point.";

/**
 * Lets a run go on from an earlier point, as its next generation. Refusals, in order: another request of this id, stale version, no such point, nothing after it, rolled
 * back, operations unsettled, too many generations. The same request again is answered `existing`.
 */
export function decideRewindRun(run: Run, command: RewindRun, ctx: DecideContext): Decision {
  return findRepeat(run, command) ?? rewind(run, command, ctx);
}

/**
 * Tries again what failed of a run, as its next generation. Refusals, in order: another request of this id, stale version, a task that is none of the plan, nothing
 * that failed, rolled back, too many generations. The same request again is answered `existing`.
 */
export function decideRetryRun(run: Run, command: RetryRun, ctx: DecideContext): Decision {
  return findRepeat(run, command) ?? retry(run, command, ctx);
}

function findRepeat(run: Run, command: RewindRun | RetryRun): Decision | undefined {
  const { requestId, digest, expectedVersion, dryRun } = command;
  const isSame = (known: RewindNote): boolean => known.requestId === requestId;
  const note = dryRun ? undefined : (run.rewinds.find(isSame) ?? run.earlierRewinds.find(isSame));
  if (note !== undefined) {
    return equalBytes(note.digest, digest)
      ? acceptExisting()
      : reject(
          fingerprintConflict({
            entity: "request",
            id: requestId,
            recorded: note.digest,
            received: digest,
            differs: "content",
          }),
        );
  }
  return expectedVersion === undefined || expectedVersion === run.version
    ? undefined
    : reject(staleVersion("run", expectedVersion, run.version));
}

function rewind(run: Run, command: RewindRun, ctx: DecideContext): Decision {
  const found = findPoint(run, command);
  if ("refusal" in found) {
    return reject(found.refusal);
  }
  const { scope, words } = found;
  if (scope.reopened.size === 0) {
    return reject(nothingAfter(run, words));
  }
  const keptThrough = keptBy(scope);
  const staleSteps = new Set(
    run.steps
      .filter(({ task, maxAgeMs, observedAtMs, dropped }) => {
        const isOld = maxAgeMs > 0 && ctx.nowMs - observedAtMs > maxAgeMs;
        return isOld && dropped === 0 && keptThrough.has(task);
      })
      .map(({ number }) => number),
  );
  const how = { kind: RewindKind.REWIND, keptThrough, staleSteps };
  return goBack(run, command, { scope, how, words, ctx });
}

function retry(run: Run, command: RetryRun, ctx: DecideContext): Decision {
  const unknown = command.tasks.find((name) => !run.plan.byName.has(name));
  if (unknown !== undefined) {
    return reject(notFound("task", unknown));
  }
  const scope = scopeOfRetry(run, command.tasks, command.cancelled);
  const missed = command.tasks.find((name) => !scope.reopened.has(run.plan.byName.get(name) ?? -1));
  if (scope.reopened.size === 0 || missed !== undefined) {
    return reject(nothingFailed(run, missed));
  }
  const how = { kind: RewindKind.RETRY, keptThrough: keptBy(scope), staleSteps: new Set<number>() };
  return goBack(run, command, { scope, how, words: "", ctx });
}

function keptBy({ reopened, gone }: RewindScope): ReadonlyMap<number, number> {
  const kept = new Map(reopened);
  for (const number of gone) {
    kept.set(number, 0);
  }
  return kept;
}

interface BackParts {
  readonly scope: RewindScope;
  readonly how: Dropping;
  readonly words: string;
  readonly ctx: DecideContext;
}

function goBack(run: Run, command: RewindRun | RetryRun, parts: BackParts): Decision {
  const { scope, how, ctx } = parts;
  const refusal =
    refuseRewind(run, scope, how, ctx) ??
    (run.rewinds.length < limits.rewindsMax
      ? undefined
      : runIsFull(command.kind, "generations", limits.rewindsMax + 1));
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const report = reportRewind(run, scope, how, dropsMessages(command));
  if (command.dryRun) {
    return accept([], { existing: false, rewind: report });
  }
  const moot = [...scope.reopened.keys(), ...scope.gone].flatMap((task) =>
    closeTaskReview(run, task, ctx, rewoundReason),
  );
  const taken = takeReturned(run, how, dropsMessages(command));
  const rewound = rewoundOf(run, command, parts);
  return accept([...endDropped(run, how), rewound, ...moot, ...taken], {
    existing: false,
    rewind: report,
  });
}

function dropsMessages(command: RewindRun | RetryRun): boolean {
  return command.kind === "RewindRun" && command.dropsMessages;
}

function rewoundOf(run: Run, command: RewindRun | RetryRun, parts: BackParts): EventBody {
  const { scope, how, words, ctx } = parts;
  return {
    case: "runRewound",
    value: {
      generation: run.generation + 1,
      kind: how.kind,
      reopened: [...scope.reopened]
        .sort(([one], [other]) => one - other)
        .map(([task, keepThrough]) => ({ task, keepThrough })),
      gone: [...scope.gone].sort((one, other) => one - other),
      dropsMessages: dropsMessages(command),
      deadline: deadlineAgain(run, ctx.nowMs),
      staleSteps: [...how.staleSteps],
      reason: command.reason,
      principal: ctx.principal,
      requestId: command.requestId,
      digest: command.digest,
      point: words,
    },
  };
}

/** An open run keeps its deadline. One that had ended has all of its timeout again, and still ends with its parent. */
function deadlineAgain(run: Run, nowMs: number): RunDeadlineShape | undefined {
  const { deadline } = run;
  if (deadline === undefined || isRunOpen(run.status)) {
    return deadline;
  }
  const { timeoutMs, ofParent, atMs } = deadline;
  const ownMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : nowMs + timeoutMs;
  if (ofParent && atMs > nowMs && atMs < ownMs) {
    return deadline;
  }
  return timeoutMs === 0 ? undefined : { atMs: ownMs, timeoutMs, ofParent: false };
}

/** A decision never reaches what is proposed anew. Whoever else waits for it is told. */
function endDropped(run: Run, how: Dropping): EventBody[] {
  return [...run.openProposals].flatMap((number) => {
    const proposal = run.proposals[number];
    if (proposal === undefined || !dropsProposal(how, proposal, run)) {
      return [];
    }
    const isPending = proposal.status === ProposalStatus.PENDING;
    const status = isPending ? ProposalStatus.WITHDRAWN : ProposalStatus.REVOKED;
    const told = wakeWaiters(run, number, { status, principal: "", reason: rewoundReason });
    const others = told.filter(
      (event) => event.case === "waitEnded" && !how.keptThrough.has(event.value.task),
    );
    return [endProposal(proposal, status, rewoundReason, ""), ...(isPending ? others : [])];
  });
}

function nothingAfter(run: Run, words: string): Rejection {
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    { entity: "run", status: runStatusName(run.status), command: "RewindRun", legal: [] },
    `Expected something of run "${run.runId}" to lie after ${words}, but nothing would be open again. Next: name an earlier point, or a task that could run (pawl run history shows the events).`,
  );
}

function nothingFailed(run: Run, task: string | undefined): Rejection {
  const number = task === undefined ? undefined : run.plan.byName.get(task);
  const status = run.tasks[number ?? -1]?.status;
  const isNone = status === undefined;
  const actual = isNone ? "there is none" : `"${task}" is ${taskStatusName(status)}`;
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    {
      entity: isNone ? "run" : "task",
      status: isNone ? runStatusName(run.status) : taskStatusName(status),
      command: "RetryRun",
      legal: [],
    },
    `Expected ${isNone ? "a failed task in" : "only failed tasks of"} run "${run.runId}", but ${actual}. Next: name failed tasks, allow cancelled ones, or rewind the run to an earlier point.`,
  );
}
