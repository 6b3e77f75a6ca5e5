import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { Command, SendSignal, StartRun } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import { payload } from "../../core/support/values.js";
import { leaseOf, versionOf } from "./aims.js";
import type { Move } from "./moves.js";
import { oneOf } from "./one-of.js";

const answers = [
  ...[ObligationStatus.DELIVERED, ObligationStatus.RUN_OVER, ObligationStatus.NOT_FOUND],
  ...[ObligationStatus.FULL, ObligationStatus.OPEN],
] as const;

/** What a run owes another, under few names so that many are asked for again; and what the other answered. */
export function obligationOf(
  run: Run,
  verb: "oblige" | "answer",
  move: Move,
): Exclude<Command, StartRun> {
  const { pick, which, content } = move;
  if (verb === "answer") {
    const open = [...run.openObligations];
    const isAimed = move.aims && open.length > 0;
    const obligation = isAimed ? oneOf(open, which) : which % (run.obligations.length + 1);
    return { kind: "SettleObligation", obligation, status: oneOf(answers, pick) };
  }
  return {
    kind: "MakeObligation",
    ...leaseOf(run, move),
    name: `tell${which % 2}`,
    key: pick % 2 === 0 ? undefined : `${Math.floor(run.eventCount / 5)}`,
    runId: pick === 7 ? "other" : "another",
    order:
      pick % 3 === 0
        ? { case: "cancel", reason: content === 0 ? "enough" : "" }
        : {
            case: "signal",
            signal: "go",
            payload: pick % 4 === 0 ? undefined : payload(content),
          },
    seenThrough: 0,
  };
}

/** A signal. */
export function signalOf(run: Run, move: Move): Exclude<Command, StartRun> {
  return {
    kind: "SendSignal",
    name: `signal${move.which % 2}`,
    payload: move.pick % 4 === 0 ? undefined : payload(move.content),
    ...senderOf(run, move),
    expectedVersion: versionOf(run, move),
  };
}

/** Who sends a signal: somebody, by a request, or a run, by an obligation; some of them again. */
function senderOf(run: Run, { pick }: Move): Pick<SendSignal, "requestId" | "from"> {
  if (pick % 3 !== 1) {
    return { requestId: pick % 3 === 0 ? "again" : `q${run.eventCount}` };
  }
  const obligation = pick === 1 ? 0 : run.eventCount;
  return { requestId: "", from: { run: 7, obligation, runId: "sender" } };
}
