import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { IntendOperation } from "../command.js";
import { accept, type Decision } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import type { Operation, Run } from "../state.js";
import { isTaskClosed, operationStatusName } from "../transitions.js";
import type { IntentParts } from "./proceed.js";
import { waitForReview } from "./settle-doubt.js";

/** True when an intent asks for what the operation is, or for something else for which a person decided that its result stands. */
export function isAskedAgain(
  { declaration, adoptedFingerprint }: Operation,
  fingerprint: Uint8Array,
): boolean {
  return (
    equalBytes(declaration.fingerprint, fingerprint) || equalBytes(adoptedFingerprint, fingerprint)
  );
}

/**
 * Code that runs again asks for an operation that an earlier generation settled. The same request is given what it came to; of another one a person decides
 * whether that stands for it: it has the same key, so the sink must not be called.
 */
export function answerCarried(
  run: Run,
  operation: Operation,
  parts: IntentParts & { readonly command: Pick<IntendOperation, "fingerprint" | "seenThrough"> },
): Decision {
  const { command, found } = parts;
  if (!isAskedAgain(operation, command.fingerprint)) {
    return askWhetherItStands(run, operation, parts);
  }
  const reused: EventBody = {
    case: "operationReused",
    value: {
      operation: operation.number,
      task: found?.task.number ?? operation.task,
      leaseVersion: command.lease?.leaseVersion ?? 0,
      seenThrough: command.seenThrough,
    },
  };
  return accept([reused], {
    existing: false,
    intent: { case: "reuse", operationKey: operation.declaration.key },
  });
}

function askWhetherItStands(
  run: Run,
  operation: Operation,
  parts: IntentParts & { readonly command: Pick<IntendOperation, "fingerprint"> },
): Decision {
  const { fingerprint } = parts.command;
  const open = run.reviews.find(
    (review) =>
      review.subject === ReviewSubject.REUSE &&
      review.resolvedAtMs === 0 &&
      review.operation === operation.number &&
      review.askedFingerprint !== undefined &&
      equalBytes(review.askedFingerprint, fingerprint),
  );
  if (open !== undefined) {
    return waitForReview(run, operation, parts, { review: open.number, before: [] });
  }
  const { key } = operation.declaration;
  const opened: EventBody = {
    case: "reviewOpened",
    value: {
      review: run.reviews.length,
      subject: ReviewSubject.REUSE,
      operation: operation.number,
      task: parts.found?.task.number ?? operation.task,
      known: `Operation "${key}" is ${operationStatusName(operation.status)} since before the run went on from an earlier point, and its code asks for another target or content under the same key now. The sink is not called again. Accept: what is recorded stands for what is asked now. Fail: the task fails.`,
      askedFingerprint: fingerprint,
    },
  };
  return waitForReview(run, operation, parts, { review: run.reviews.length, before: [opened] });
}

/** Nobody asks any more whether a result stands, once the task that asked has ended. */
export function closeMootReuse(run: Run): EventBody[] {
  return run.reviews
    .filter(({ subject, resolvedAtMs, task }) => {
      const asker = run.tasks[task];
      const isOver = asker === undefined || isTaskClosed(asker.status);
      return subject === ReviewSubject.REUSE && resolvedAtMs === 0 && isOver;
    })
    .map(({ number }) => ({
      case: "reviewResolved",
      value: {
        review: number,
        choice: ReviewChoice.ABANDON,
        reason: "The task that asked has ended.",
        principal: "",
      },
    }));
}
