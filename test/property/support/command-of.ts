import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command, CompleteTask, LeaseTask, StartRun } from "@pawl/server/core/command.js";
import { specOf } from "@pawl/server/core/plan/change-spec.js";
import { followsCurrent } from "@pawl/server/core/plan/code-version.js";
import { type Run, taskVersion } from "@pawl/server/core/state.js";
import { failure, fingerprint, payload } from "../../core/support/values.js";
import { leaseOf, taskOf, versionOf } from "./aims.js";
import { approvalOf } from "./approval-moves.js";
import { callsOf } from "./call-moves.js";
import { changes } from "./changes.js";
import { intentOf, outcomeOf } from "./effect-moves.js";
import { messageOf } from "./message-moves.js";
import type { Move } from "./moves.js";
import { obligationOf, signalOf } from "./obligation-moves.js";
import { oneOf } from "./one-of.js";
import { revisionOf } from "./revision-moves.js";
import { wentBackOf } from "./rewind-moves.js";
import { provisionOf, suspensionOf } from "./wait-moves.js";

/** A task that follows is taken under some version, or under none, which is refused. */
function leaseTaskOf(run: Run, move: Move): LeaseTask {
  const task = taskOf(run, move, [TaskStatus.READY]);
  const spec = specOf(run, task);
  const isFollowing = spec !== undefined && followsCurrent(run, spec);
  return {
    ...{ kind: "LeaseTask", task, sessionId: `s${move.pick % 2}`, worker: "w1" },
    codeVersion: isFollowing ? move.pick % 4 : 0,
  };
}

/** The command that a move means in this state. */
export function commandOf(run: Run, move: Move): Exclude<Command, StartRun> {
  switch (move.verb) {
    case "lease":
      return leaseTaskOf(run, move);
    case "endLease":
      return {
        kind: "EndLease",
        ...leaseOf(run, move),
        reason: oneOf(endReasons, move.pick),
        delayMs: move.content * 700,
        progress: move.content === 1 ? payload("half") : undefined,
      };
    case "fire":
      return {
        kind: "FireDeadline",
        task: taskOf(run, move, [
          TaskStatus.READY,
          TaskStatus.LEASED,
          TaskStatus.BACKOFF,
          TaskStatus.SUSPENDED,
        ]),
      };
    case "revise":
      return revisionOf(run, move);
    case "expireRun":
      return { kind: "ExpireRun" };
    case "continue":
      return { kind: "ContinueRun", ...leaseOf(run, move), input: payload(move.content) };
    case "complete":
    case "fail":
    case "confirmCancel":
    case "step":
      return reportOf(run, move.verb, move);
    case "suspend":
    case "declare":
    case "call":
      return waitOf(run, move.verb, move);
    case "signal":
      return signalOf(run, move);
    case "oblige":
    case "answer":
    case "childEnd":
      return obligationOf(run, move.verb, move);
    case "provide":
      return provisionOf(run, move);
    case "intend":
      return intentOf(run, move);
    case "observe":
    case "reconcile":
      return outcomeOf(run, move.verb, move);
    case "change":
      return changeOf(run, move);
    case "pause":
      return pauseRunOf(run, move);
    case "resume":
      return { kind: "ResumeRun", expectedVersion: versionOf(run, move), reason: "looked" };
    case "cancel":
    case "terminate":
      return endOf(run, move.verb, move);
    case "hold":
    case "delete":
      return deletionOf(run, move.verb, move);
    case "rewind":
    case "retry":
      return wentBackOf(run, move.verb, move);
    case "resolve":
      return resolutionOf(run, move);
    case "propose":
    case "decide":
    case "withdraw":
    case "revoke":
    case "expire":
      return approvalOf(run, move.verb, move);
  }
}

/** What keeps a run, or deletes it. */
function deletionOf(run: Run, verb: "hold" | "delete", move: Move): Exclude<Command, StartRun> {
  const order = { expectedVersion: versionOf(run, move), reason: "asked for" };
  return verb === "hold"
    ? { kind: "ChangeLegalHold", ...order, held: move.pick % 3 === 0 }
    : { kind: "DeleteRun", ...order, dryRun: move.pick === 1, whenDue: move.pick === 2 };
}

/** The end of a run, asked for or at once. */
function endOf(run: Run, verb: "cancel" | "terminate", move: Move): Exclude<Command, StartRun> {
  const expectedVersion = versionOf(run, move);
  return verb === "cancel"
    ? { kind: "CancelRun", expectedVersion, reason: "enough" }
    : { kind: "TerminateRun", expectedVersion, reason: "now" };
}

/** The pause of a run, with offers that no worker is said to have taken. */
function pauseRunOf(run: Run, move: Move): Exclude<Command, StartRun> {
  return {
    kind: "PauseRun",
    expectedVersion: versionOf(run, move),
    reason: "look",
    untaken: run.tasks.flatMap(({ number, status, leaseVersion }) =>
      status === TaskStatus.LEASED && (number + move.pick) % 2 === 0
        ? [{ task: number, leaseVersion: leaseVersion - move.stale }]
        : [],
    ),
  };
}

/** What a task does to wait, now or later. */
function waitOf(
  run: Run,
  verb: "suspend" | "declare" | "call",
  move: Move,
): Exclude<Command, StartRun> {
  switch (verb) {
    case "suspend":
      return { kind: "SuspendTask", ...leaseOf(run, move), ...suspensionOf(run, move) };
    case "declare": {
      const { waits } = suspensionOf(run, move);
      return { kind: "DeclareWaits", ...leaseOf(run, move), waits };
    }
    case "call":
      return callsOf(run, move);
  }
}

/** What a person gives as reason in `resolve`. */
export const PERSONS_REASON = "looked";

const endReasons = [
  LeaseEndReason.EXPIRED,
  LeaseEndReason.NOT_ACKNOWLEDGED,
  LeaseEndReason.RETURNED,
  LeaseEndReason.NOT_HELD,
] as const;

function reportOf(
  run: Run,
  verb: "complete" | "fail" | "confirmCancel" | "step",
  move: Move,
): Exclude<Command, StartRun> {
  const lease = leaseOf(run, move);
  const says = failure({ retryable: move.pick !== 0, kind: move.pick === 1 ? "Fatal" : "Boom" });
  switch (verb) {
    case "complete":
      return {
        kind: "CompleteTask",
        ...lease,
        ...returnOf(move),
      };
    case "fail":
      return {
        kind: "FailTask",
        ...lease,
        failure: says,
        retryAfterMs: move.pick === 3 ? 250 : undefined,
        progress: undefined,
        forReview: move.pick === 4,
      };
    case "confirmCancel":
      return { kind: "ConfirmCancel", ...lease, failure: says };
    case "step":
      return {
        kind: "RecordStep",
        ...lease,
        name: `step${move.pick % 3}`,
        key: move.pick % 2 === 0 ? undefined : "k",
        value: move.pick === 5 ? undefined : payload(move.content),
        failure: move.pick === 5 ? says : undefined,
        seenThrough: 0,
        read: move.pick > 6,
        rollback: move.pick % 4 === 2 ? { operation: "undo", target: "till" } : undefined,
        ...messageOf(run, lease.task, move),
      };
  }
}

/** What a completion says: an output or none, and, seldom, that the code did not reach something. */
function returnOf({ pick, content }: Move): Pick<CompleteTask, "output" | "unvisited"> {
  return {
    output: pick % 3 === 0 ? undefined : payload(content),
    unvisited: pick === 4 ? ['operation "pay"'] : [],
  };
}

function resolutionOf(run: Run, move: Move): Exclude<Command, StartRun> {
  const open = run.reviews.filter(({ resolvedAtMs }) => resolvedAtMs === 0);
  const among = move.aims && open.length > 0 ? open : run.reviews;
  const review = among.length === 0 ? undefined : oneOf(among, move.which);
  const choice = oneOf(
    [
      ...[ReviewChoice.DONE, ReviewChoice.RETRY, ReviewChoice.ABANDON, ReviewChoice.FAIL],
      ...[ReviewChoice.NOT_DONE, ReviewChoice.SKIP, ReviewChoice.ACCEPT],
    ],
    move.pick,
  );
  return {
    kind: "ResolveReview",
    incarnation: run.incarnation,
    review: review?.number ?? 0,
    expectedVersion: (review?.version ?? 1) - move.stale,
    choice,
    result: choice === ReviewChoice.DONE ? payload(move.content) : undefined,
    reason: PERSONS_REASON,
  };
}

function changeOf(run: Run, move: Move): Exclude<Command, StartRun> {
  const change = oneOf(changes, move.pick);
  const wanted =
    change.case === "backoffSkipped" ? [TaskStatus.BACKOFF] : [TaskStatus.READY, TaskStatus.LEASED];
  const task = taskOf(run, move, wanted);
  const expectedVersion = taskVersion(run, run.tasks[task] ?? { version: 0 }) - move.stale;
  const digest = fingerprint(move.pick);
  return { kind: "ChangeTask", task, expectedVersion, reason: "by hand", change, digest };
}
