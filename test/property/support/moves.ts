import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type {
  Command,
  Finding,
  IntendOperation,
  ObservedOutcome,
  OperationLease,
  StartRun,
} from "@pawl/server/core/command.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import type { Operation, Run, Task } from "@pawl/server/core/state.js";
import fc from "fast-check";
import { planOf } from "../../core/support/plans.js";
import { failure, fingerprint, payload } from "../../core/support/values.js";
import { approvalOf, contextOf, restsOn } from "./approval-moves.js";
import { changes } from "./changes.js";
import { oneOf } from "./one-of.js";
import { provisionOf, suspensionOf } from "./wait-moves.js";

const verbs = [
  "lease",
  "complete",
  "fail",
  "confirmCancel",
  "endLease",
  "step",
  "suspend",
  "signal",
  "provide",
  "intend",
  "observe",
  "reconcile",
  "fire",
  "change",
  "pause",
  "resume",
  "cancel",
  "terminate",
  "resolve",
  "propose",
  "decide",
  "withdraw",
  "revoke",
  "expire",
] as const;
/** What a move does. */
export type Verb = (typeof verbs)[number];

/** A command in the making: what it means depends on the state it meets, so that many are legal and many are not. */
export interface Move {
  readonly verb: Verb;
  /** Picks a task, operation or review. */
  readonly which: number;
  /** True: among those that the verb suits; false: among all, and one that does not exist. */
  readonly aims: boolean;
  /** How far behind (or ahead of) the current lease or version: mostly 0. */
  readonly stale: number;
  /** Picks names, reasons, outcomes, choices. */
  readonly pick: number;
  /** Which content: mostly the same. */
  readonly content: number;
  /** Time that passes before it. */
  readonly waitMs: number;
}

const weights: Readonly<Record<Verb, number>> = {
  lease: 14,
  complete: 6,
  fail: 5,
  confirmCancel: 2,
  endLease: 6,
  step: 4,
  suspend: 8,
  signal: 5,
  provide: 3,
  intend: 16,
  observe: 10,
  reconcile: 8,
  fire: 8,
  change: 4,
  pause: 2,
  resume: 4,
  cancel: 1,
  terminate: 1,
  resolve: 6,
  propose: 8,
  decide: 12,
  withdraw: 1,
  revoke: 1,
  expire: 2,
};

function moveArbitrary(allowed: readonly Verb[]): fc.Arbitrary<Move> {
  const small = { max: 11 };
  return fc.record({
    verb: fc.oneof(
      ...allowed.map((verb) => ({ weight: weights[verb], arbitrary: fc.constant(verb) })),
    ),
    which: fc.nat(small),
    aims: fc.oneof(
      { weight: 9, arbitrary: fc.constant(true) },
      { weight: 1, arbitrary: fc.constant(false) },
    ),
    stale: fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(-1, 1, 2) },
    ),
    pick: fc.nat(small),
    content: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constant(1) },
    ),
    waitMs: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 900 }) },
      { weight: 3, arbitrary: fc.constantFrom(1000, 5000, 20_000) },
    ),
  });
}

/** Sequences of moves on a run. */
export const runMoves: fc.Arbitrary<readonly Move[]> = fc.array(moveArbitrary(verbs), {
  maxLength: 60,
  size: "max",
});

/** Sequences of moves on an operation of scope NAMESPACE. */
export const ledgerMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary([
    "intend",
    "observe",
    "reconcile",
    "resolve",
    "propose",
    "decide",
    "withdraw",
    "revoke",
    "expire",
  ]),
  { maxLength: 30, size: "max" },
);

/** Sequences of moves around the effects of a run: deep into calls, doubts, look-ups and reviews. */
export const effectMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary(["lease", "intend", "observe", "observe", "reconcile", "endLease", "resolve"]),
  { minLength: 8, maxLength: 40, size: "max" },
);

/** Sequences of moves around approvals: proposed, decided, used, and too late. */
export const approvalMoves: fc.Arbitrary<readonly Move[]> = fc.array(
  moveArbitrary([
    ...([
      "lease",
      "propose",
      "decide",
      "decide",
      "intend",
      "intend",
      "observe",
      "reconcile",
    ] as const),
    ...(["endLease", "resolve", "withdraw", "revoke", "expire"] as const),
  ]),
  { minLength: 8, maxLength: 40, size: "max" },
);

/** A plan for them: one task with attempts to spare. */
export const effectPlan: CompiledPlan = planOf({
  only: { retry: { attemptsMax: 1000, initialMs: 0 } },
});

/** Plans of several shapes, with every timeout somewhere. */
export const plans: readonly CompiledPlan[] = [
  planOf({ only: { retry: { attemptsMax: 3, initialMs: 1000, workerLossesMax: 2 } } }, "only"),
  planOf({ a: {}, b: { needs: ["a"], cancelGraceMs: 500 }, c: { needs: ["b"] } }, "c"),
  planOf(
    {
      top: { scheduleToStartMs: 30_000 },
      left: {
        needs: ["top"],
        startToCloseMs: 4000,
        retry: { attemptsMax: 2, initialMs: 500, jitter: 1, onExhausted: OnExhausted.ASK },
      },
      right: { needs: ["top"], scheduleToCloseMs: 60_000, retry: { nonRetryable: ["Fatal"] } },
      bottom: { needs: ["left", "right"] },
      free: {},
    },
    "bottom",
  ),
];

/** A plan, at random. */
export const plan: fc.Arbitrary<CompiledPlan> = fc.constantFrom(...plans);

/** Starts a run of this plan. */
export function startOf(chosen: CompiledPlan): StartRun {
  return {
    kind: "StartRun",
    namespace: "default",
    runId: "r1",
    workflow: "w",
    plan: chosen,
    input: payload({ n: 1 }),
    fingerprint: fingerprint(1),
    labels: [{ key: "team", value: "a" }],
    traceparent: "",
    onExisting: OnExisting.UNSPECIFIED,
    requestId: "",
  };
}

/** The command that a move means in this state. */
export function commandOf(run: Run, move: Move): Exclude<Command, StartRun> {
  switch (move.verb) {
    case "lease":
      return {
        kind: "LeaseTask",
        task: taskOf(run, move, [TaskStatus.READY]),
        sessionId: `s${move.pick % 2}`,
        worker: "w1",
      };
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
    case "complete":
    case "fail":
    case "confirmCancel":
    case "step":
      return reportOf(run, move.verb, move);
    case "suspend":
      return { kind: "SuspendTask", ...leaseOf(run, move), ...suspensionOf(run, move) };
    case "signal":
      return {
        kind: "SendSignal",
        name: `signal${move.which % 2}`,
        payload: move.pick % 4 === 0 ? undefined : payload(move.content),
        requestId: move.pick % 3 === 0 ? "again" : `q${run.eventCount}`,
        expectedVersion: versionOf(run, move),
      };
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
    case "resume":
      return { kind: "ResumeRun", expectedVersion: versionOf(run, move), reason: "looked" };
    case "cancel":
      return { kind: "CancelRun", expectedVersion: versionOf(run, move), reason: "enough" };
    case "terminate":
      return { kind: "TerminateRun", expectedVersion: versionOf(run, move), reason: "now" };
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

export { contextOf };

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
        output: move.pick % 3 === 0 ? undefined : payload(move.content),
      };
    case "fail":
      return {
        kind: "FailTask",
        ...lease,
        failure: says,
        retryAfterMs: move.pick === 3 ? 250 : undefined,
        progress: undefined,
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
      };
  }
}

const sinks = [SinkKind.IDEMPOTENT, SinkKind.RECONCILABLE, SinkKind.OPAQUE] as const;

function intentOf(run: Run, move: Move): IntendOperation {
  const isLedger = run.kind === "ledger";
  const sinkKind = isLedger ? oneOf(sinks, move.which) : oneOf(sinks, move.pick);
  const isOfRun = move.pick >= 9;
  return {
    kind: "IntendOperation",
    namespace: "default",
    lease: isLedger ? undefined : leaseOf(run, move),
    // Now and then the latest id again: a resent intent.
    intentId: move.pick % 4 === 0 ? (run.operations[0]?.intentId ?? "i0") : `i${run.eventCount}`,
    name: isLedger ? "pay" : `op${sinkKind}`,
    scope: isLedger ? OperationScope.NAMESPACE : isOfRun ? OperationScope.RUN : OperationScope.TASK,
    key: isLedger ? "invoice-1" : undefined,
    target: "till",
    payload: payload({ amount: move.content }),
    fingerprint: fingerprint(10 + move.content),
    sinkKind,
    keyWindowMs: sinkKind === SinkKind.IDEMPOTENT ? 4000 : 0,
    settleMs: 2000,
    callTimeoutMs: 1000,
    seenThrough: 0,
    ...restsOn(run, move),
  };
}

function outcomeOf(
  run: Run,
  verb: "observe" | "reconcile",
  move: Move,
): Exclude<Command, StartRun> {
  const wanted =
    verb === "observe"
      ? [OperationStatus.INTENDED, OperationStatus.NEEDS_REVIEW]
      : [OperationStatus.IN_DOUBT];
  const operation = operationOf(run, move, wanted);
  const operationKey = operation?.declaration.key ?? "none";
  if (verb === "observe") {
    const intentId = move.stale === 0 ? (operation?.intentId ?? "i0") : "i-stale";
    return { kind: "ObserveOperation", operationKey, intentId, outcome: observed(move) };
  }
  const intentId = `r${run.eventCount}`;
  return {
    kind: "ReconcileOperation",
    lease: leaseForLookUp(run, operation, move),
    operationKey,
    intentId,
    lookedUpIntentId: move.stale === 0 ? (operation?.intentId ?? "i0") : "i-stale",
    finding: found(move),
  };
}

function observed(move: Move): ObservedOutcome {
  const cases = ["result", "refused", "notSent", "unknown"] as const;
  const chosen = oneOf(cases, move.pick);
  return chosen === "result"
    ? { case: chosen, value: payload(move.content) }
    : { case: chosen, value: failure() };
}

function found(move: Move): Finding {
  const chosen = oneOf(["unknown", "found", "absent", "unknown"] as const, move.pick);
  if (chosen === "absent") {
    return { case: chosen };
  }
  return chosen === "found"
    ? { case: chosen, value: payload(move.content) }
    : { case: chosen, value: failure() };
}

function leaseForLookUp(
  run: Run,
  operation: Operation | undefined,
  move: Move,
): OperationLease | undefined {
  if (run.kind === "ledger") {
    return undefined;
  }
  const task = operation === undefined ? undefined : run.tasks[operation.task];
  const isAimed = move.aims && task?.status === TaskStatus.LEASED;
  return isAimed
    ? { task: task.number, leaseVersion: task.leaseVersion - move.stale }
    : leaseOf(run, move);
}

function resolutionOf(run: Run, move: Move): Exclude<Command, StartRun> {
  const open = run.reviews.filter(({ resolvedAtMs }) => resolvedAtMs === 0);
  const among = move.aims && open.length > 0 ? open : run.reviews;
  const review = among.length === 0 ? undefined : oneOf(among, move.which);
  const choice = oneOf(
    [
      ...[ReviewChoice.DONE, ReviewChoice.RETRY, ReviewChoice.ABANDON, ReviewChoice.FAIL],
      ...[ReviewChoice.NOT_DONE, ReviewChoice.SKIP],
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
  const expectedVersion = (run.tasks[task]?.version ?? 0) - move.stale;
  const digest = fingerprint(move.pick);
  return { kind: "ChangeTask", task, expectedVersion, reason: "by hand", change, digest };
}

function versionOf(run: Run, move: Move): number | undefined {
  return move.pick % 2 === 0 ? undefined : run.version - move.stale;
}

function leaseOf(run: Run, move: Move): OperationLease {
  const number = taskOf(run, move, [TaskStatus.LEASED]);
  return { task: number, leaseVersion: (run.tasks[number]?.leaseVersion ?? 1) - move.stale };
}

function taskOf(run: Run, move: Move, wanted: readonly TaskStatus[]): number {
  const suited = run.tasks.filter((task: Task) => wanted.includes(task.status));
  const isAimed = move.aims && suited.length > 0;
  return isAimed ? oneOf(suited, move.which).number : move.which % (run.tasks.length + 1);
}

function operationOf(
  run: Run,
  move: Move,
  wanted: readonly OperationStatus[],
): Operation | undefined {
  const suited = run.operations.filter((operation) => wanted.includes(operation.status));
  const among = move.aims && suited.length > 0 ? suited : run.operations;
  return among.length === 0 ? undefined : oneOf(among, move.which);
}
