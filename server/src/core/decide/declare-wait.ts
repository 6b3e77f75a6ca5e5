import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
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

/** What is recorded of something that is waited for from now on. */
export function declareWait(
  { name, key, subject }: WaitFor,
  run: Run,
  ctx: DecideContext,
): WaitDeclarationShape | UndeclarableWait {
  if (subject.case === "proposal") {
    const { proposal } = subject;
    return run.proposals[proposal] === undefined
      ? {
          reason: "undeclarable",
          expected: "about a proposal of its run",
          actual: `about proposal ${proposal}, which the run does not have`,
        }
      : { name, key, dueAtMs: 0, subject: { case: "proposal", value: { proposal } } };
  }
  const dueAtMs = dueTime(subject.due, ctx.nowMs);
  if (dueAtMs > ctx.nowMs + limits.timeoutMsMax) {
    const expected = `a time at most ${limits.timeoutMsMax} ms ahead`;
    return { reason: "undeclarable", expected, actual: `${dueAtMs - ctx.nowMs} ms ahead` };
  }
  return { name, key, dueAtMs, subject: { case: "timer", value: {} } };
}

/** True when what is waited for is what is recorded. Times are not compared: the recorded one counts. */
export function fitsDeclaration(
  { subject }: WaitFor,
  recorded: Pick<WaitDeclarationShape, "subject">,
): boolean {
  return describeSubject(subject) === describeSubject(recorded.subject);
}

/** Never early: rounded up. A past one is due at once; 0 would say that nothing is due ever. */
function dueTime(due: Extract<WaitSubject, { case: "timer" }>["due"], nowMs: number): number {
  return Math.max(1, Math.ceil("atMs" in due ? due.atMs : nowMs + due.afterMs));
}
