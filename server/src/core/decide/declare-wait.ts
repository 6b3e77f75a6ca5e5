import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { WaitFor, WaitSubject } from "../command.js";
import type { DecideContext } from "../context.js";
import { limits } from "../limits.js";
import type { Run } from "../state.js";
import { describeSubject } from "../wait-subject.js";

/** Why something cannot be waited for. */
export interface UndeclarableWait {
  readonly reason: "undeclarable";
  readonly expected: string;
  readonly actual: string;
}

/**
 * What is recorded of something that is waited for from now on.
 * @param nextInput number of the next input request in the run.
 */
export function declareWait(
  { name, key, subject }: WaitFor,
  run: Run,
  { nowMs, runNumber }: DecideContext,
  nextInput: number,
): WaitDeclarationShape | UndeclarableWait {
  if (
    subject.case === "proposal" &&
    (subject.ofRun !== runNumber || run.proposals[subject.proposal] === undefined)
  ) {
    return {
      reason: "undeclarable",
      expected: "about a proposal of its run",
      actual: `about proposal ${subject.ofRun}-p${subject.proposal}, which the run does not have`,
    };
  }
  if (subject.case === "child" && !isChild(run, subject.obligation)) {
    return {
      reason: "undeclarable",
      expected: "about a child of its run",
      actual: `about obligation ${subject.obligation}, which started none`,
    };
  }
  if (subject.case === "obligation" && !isOwn(run, subject.obligation)) {
    return {
      reason: "undeclarable",
      expected: "about an obligation of its run",
      actual: `about obligation ${subject.obligation}, which the run does not have`,
    };
  }
  if (subject.case === "review" && !isReviewOfOperation(run, subject)) {
    return {
      reason: "undeclarable",
      expected: "about a review of an operation of its run",
      actual: `about review ${subject.review} of incarnation ${subject.incarnation}, which is none`,
    };
  }
  const dueAtMs = dueTime(subject, nowMs);
  if (dueAtMs > nowMs + limits.timeoutMsMax) {
    const expected = `a time at most ${limits.timeoutMsMax} ms ahead`;
    return { reason: "undeclarable", expected, actual: `${dueAtMs - nowMs} ms ahead` };
  }
  return { name, key, dueAtMs, subject: declareSubject(subject, nextInput) };
}

/** True when what is waited for is what is recorded. Times are not compared: the recorded one counts. */
export function fitsDeclaration(
  { subject }: WaitFor,
  recorded: Pick<WaitDeclarationShape, "subject">,
  runNumber: number,
): boolean {
  return describeSubject(subject, runNumber) === describeSubject(recorded.subject, runNumber);
}

function declareSubject(subject: WaitSubject, nextInput: number): WaitDeclarationShape["subject"] {
  switch (subject.case) {
    case "timer":
      return { case: "timer", value: {} };
    case "signal":
      return { case: "signal", value: { signal: subject.signal } };
    case "update":
      return { case: "update", value: { update: subject.update } };
    case "proposal":
      return { case: "proposal", value: { proposal: subject.proposal } };
    case "child":
      return { case: "child", value: { obligation: subject.obligation } };
    case "obligation":
      return { case: "obligation", value: { obligation: subject.obligation } };
    case "review":
      return { case: "review", value: { review: subject.review } };
    case "input": {
      const { question, addressee, schema, fingerprint } = subject;
      return {
        case: "input",
        value: { input: nextInput, question, addressee, schema, fingerprint },
      };
    }
  }
}

/** When a wait ends by itself; 0: never. Never early: rounded up. A past time is due at once, so it is not 0. */
function dueTime(subject: WaitSubject, nowMs: number): number {
  switch (subject.case) {
    case "timer":
      return pointOf("atMs" in subject.due ? subject.due.atMs : nowMs + subject.due.afterMs);
    case "proposal":
      return 0; // Its own expiry ends it.
    case "child":
    case "obligation":
      return 0; // The kernel goes on until there is an answer.
    case "review":
      return 0; // People take the time that they need.
    case "signal":
    case "update":
      return subject.timeoutMs === undefined ? 0 : pointOf(nowMs + subject.timeoutMs);
    case "input":
      return subject.expiresInMs === undefined ? 0 : pointOf(nowMs + subject.expiresInMs);
  }
}

/** True for an obligation of this incarnation. */
function isOwn(run: Run, number: number): boolean {
  return run.obligations[number]?.earlier === false;
}

function isChild(run: Run, number: number): boolean {
  return isOwn(run, number) && run.obligations[number]?.declaration.order.case === "child";
}

function isReviewOfOperation(
  run: Run,
  { review, incarnation }: Extract<WaitSubject, { case: "review" }>,
): boolean {
  const subject = run.reviews[review]?.subject;
  const isOfOperation = subject === ReviewSubject.OPERATION || subject === ReviewSubject.REUSE;
  return incarnation === run.incarnation && isOfOperation;
}

function pointOf(atMs: number): number {
  return Math.max(1, Math.ceil(atMs));
}
