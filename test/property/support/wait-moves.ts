import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import type { Command, StartRun, SuspendTask, WaitFor } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import { fingerprint, payload } from "../../core/support/values.js";
import { updateWaitsOf } from "./message-moves.js";
import type { Move } from "./moves.js";
import { oneOf } from "./one-of.js";

/** Waits under few names, so that many are named again; the turn of a loop is counted by events, so that some are new. */
export function suspensionOf(
  run: Run,
  move: Move,
): Pick<SuspendTask, "seenThrough" | "waits" | "progress"> {
  const { pick, which, content, stale } = move;
  const key = pick % 2 === 0 ? undefined : `${Math.floor(run.eventCount / 5)}`;
  const due = pick % 3 === 0 ? { atMs: 1000 * pick } : { afterMs: 300 * pick };
  const waits: WaitFor[] = [{ name: `wait${which % 3}`, key, subject: { case: "timer", due } }];
  if (which % 3 === 1) {
    const timeoutMs = pick % 2 === 0 ? undefined : 400 * which;
    const subject = { case: "signal", signal: `signal${pick % 2}`, timeoutMs } as const;
    waits.unshift({ name: "signal", key, subject });
  }
  waits.unshift(...updateWaitsOf(move, key));
  if (which % 4 === 2) {
    const asked = { question: "What?", addressee: "ann", schema: "", fingerprint: fingerprint(7) };
    const expiresInMs = pick % 3 === 0 ? 700 : undefined;
    waits.push({ name: "ask", key, subject: { case: "input", ...asked, expiresInMs } });
  }
  if (which % 4 === 3) {
    waits.unshift(...answersOf(run, move));
  }
  if (which % 5 === 4 && run.proposals.length > 0) {
    const { number: proposal } = oneOf(run.proposals, pick);
    const subject = { case: "proposal", ofRun: 1, proposal } as const;
    waits.push({ name: "said", key: `${proposal}`, subject });
  }
  waits.push(...reviewsOf(run, move));
  if (pick > 6) {
    waits.push({
      name: "late",
      key: `${which}`,
      subject: { case: "timer", due: { afterMs: 9000 } },
    });
  }
  const progress = content === 1 ? payload("half") : undefined;
  return { seenThrough: stale === 0 ? run.eventCount : pick, waits, progress };
}

/** Now and then a wait for a decision. */
function reviewsOf(run: Run, { pick, which }: Move): WaitFor[] {
  if (which % 5 !== 3 || run.reviews.length === 0) {
    return [];
  }
  const { number: review } = oneOf(run.reviews, pick);
  const subject = { case: "review", review, incarnation: run.incarnation } as const;
  return [{ name: "review", key: `${review}`, subject }];
}

/** Waits for the answer of another run, or for the end of a child. */
function answersOf(run: Run, { pick, which }: Move): WaitFor[] {
  const made = run.obligations.filter(({ earlier }) => !earlier);
  if (made.length === 0) {
    return [];
  }
  const { number: obligation, declaration } = oneOf(made, pick);
  const what = declaration.order.case === "child" && which < 8 ? "child" : "obligation";
  return [{ name: what, key: `${obligation}`, subject: { case: what, obligation } }];
}

/** Answers or declines an input request. */
export function provisionOf(run: Run, move: Move): Exclude<Command, StartRun> {
  const open = run.inputs.filter(({ status }) => status === InputStatus.OPEN);
  const among = move.aims && open.length > 0 ? open : run.inputs;
  const input = among.length === 0 ? undefined : oneOf(among, move.which);
  return {
    kind: "ProvideInput",
    incarnation: run.incarnation,
    input: input?.number ?? 0,
    expectedVersion: (input?.version ?? 1) - move.stale,
    answer:
      move.pick % 4 === 0
        ? { case: "declined", value: "no" }
        : { case: "given", value: payload(move.content) },
  };
}
