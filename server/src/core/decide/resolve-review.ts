import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { tasksOfReview } from "../awaited-review.js";
import type { ResolveReview } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import {
  fingerprintConflict,
  illegalTransition,
  notFound,
  type Rejection,
  staleVersion,
} from "../rejection.js";
import { legalChoices } from "../review-choices.js";
import { type Review, type Run, taskVersion } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import { doubtOpenCalls } from "./doubts.js";
import { endReviewWaits } from "./end-review-waits.js";

const choiceNames: Readonly<Record<ReviewChoice, string>> = {
  [ReviewChoice.UNSPECIFIED]: "unspecified",
  [ReviewChoice.DONE]: "done",
  [ReviewChoice.RETRY]: "retry",
  [ReviewChoice.ABANDON]: "abandon",
  [ReviewChoice.FAIL]: "fail",
  [ReviewChoice.SKIP]: "skip",
  [ReviewChoice.NOT_DONE]: "not-done",
  [ReviewChoice.ACCEPT]: "accept",
};

/**
 * Resolves a review. Refusals, in order: no review, another resolution than the recorded one, stale version, a choice
 * that is not offered, earlier than the call could have ended. The same resolution again is answered `existing`.
 */
export function decideResolveReview(
  run: Run,
  command: ResolveReview,
  ctx: DecideContext,
): Decision {
  const review = run.reviews[command.review];
  if (review === undefined || command.incarnation !== run.incarnation) {
    return reject(notFound("review", `${command.review}`));
  }
  if (review.resolvedAtMs !== 0) {
    return answerResolved(review, command, ctx);
  }
  if (command.expectedVersion !== review.version) {
    return reject(staleVersion("review", command.expectedVersion, review.version));
  }
  const legal = legalChoices(run, review);
  if (!legal.includes(command.choice)) {
    return reject(choiceNotOffered(command.choice, legal));
  }
  const waitMs = earlyByMs(run, review, ctx.nowMs);
  if (waitMs > 0) {
    return reject({
      reason: "PAWL_TOO_EARLY",
      message: `Expected the call to be over and settled, but it may still take effect for ${waitMs} ms. Next: decide then.`,
      retryAfterMs: waitMs,
    });
  }
  const resolved: EventBody = {
    case: "reviewResolved",
    value: {
      review: review.number,
      choice: command.choice,
      result: command.result,
      reason: command.reason,
      principal: ctx.principal,
    },
  };
  const failed = command.choice === ReviewChoice.FAIL ? failBeside(run, review, command, ctx) : [];
  return accept([...endReviewWaits(run, review.number), resolved, ...failed], {
    existing: false,
    review,
  });
}

function choiceNotOffered(choice: ReviewChoice, choices: readonly ReviewChoice[]): Rejection {
  const legal = choices.map((each) => choiceNames[each] ?? `${each}`);
  const chosen = choiceNames[choice] ?? `${choice}`;
  const offered = legal.length === 0 ? "none" : legal.join(", ");
  const next = legal.length === 0 ? "leave it: its run is over" : "choose one of these";
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    { entity: "review", status: "open", command: `choose ${chosen}`, legal },
    `Expected one of the choices that this review offers (${offered}), but ${chosen} is none of them. Next: ${next}.`,
  );
}

/** Fails the tasks that go on beside the review: those that do nothing else meanwhile are failed by its resolution. */
function failBeside(
  run: Run,
  review: Review,
  { reason }: ResolveReview,
  { principal }: DecideContext,
): EventBody[] {
  const { subject } = review;
  if (subject !== ReviewSubject.OPERATION && subject !== ReviewSubject.REUSE) {
    return [];
  }
  return tasksOfReview(run, review).flatMap((number) => {
    const task = run.tasks[number];
    if (
      task === undefined ||
      isTaskClosed(task.status) ||
      task.status === TaskStatus.NEEDS_REVIEW ||
      task.status === TaskStatus.BLOCKED
    ) {
      return [];
    }
    const changed: EventBody = {
      case: "taskChanged",
      value: {
        task: number,
        expectedVersion: taskVersion(run, task),
        digest: new Uint8Array(0),
        reason,
        principal,
        change: { case: "failed", value: {} },
      },
    };
    return [...doubtOpenCalls(run, number, task.leaseVersion), changed];
  });
}

function answerResolved(review: Review, command: ResolveReview, ctx: DecideContext): Decision {
  const none = new Uint8Array(0);
  const isSame =
    review.choice === command.choice && equalBytes(review.result ?? none, command.result ?? none);
  return isSame
    ? acceptExisting({ existing: true, review })
    : reject(
        fingerprintConflict({
          entity: "review",
          id: `${review.number}`,
          recorded: ctx.sha256(review.result ?? none),
          received: ctx.sha256(command.result ?? none),
          differs: review.choice === command.choice ? "result" : "choice",
        }),
      );
}

function earlyByMs(run: Run, review: Review, nowMs: number): number {
  const operation =
    review.subject === ReviewSubject.OPERATION ? run.operations[review.operation] : undefined;
  return operation === undefined ? 0 : operation.callByMs + operation.declaration.settleMs - nowMs;
}
