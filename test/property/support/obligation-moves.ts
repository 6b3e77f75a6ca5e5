import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command, ObligationOrder, SendSignal, StartRun } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import { planOf } from "../../core/support/plans.js";
import { failure, fingerprint, payload } from "../../core/support/values.js";
import { leaseOf, versionOf } from "./aims.js";
import type { Move } from "./moves.js";
import { oneOf } from "./one-of.js";

const answers = [
  ...[ObligationStatus.DELIVERED, ObligationStatus.RUN_OVER, ObligationStatus.NOT_FOUND],
  ...[ObligationStatus.FULL, ObligationStatus.EXISTS, ObligationStatus.OPEN],
] as const;

/** What a run owes another, under few names so that many are asked for again; and what the other answered. */
export function obligationOf(
  run: Run,
  verb: "oblige" | "answer" | "childEnd",
  move: Move,
): Exclude<Command, StartRun> {
  const { pick, which } = move;
  if (verb === "childEnd") {
    return childEndOf(run, move);
  }
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
    order: orderOf(move),
    seenThrough: 0,
  };
}

function orderOf({ pick, content }: Move): ObligationOrder {
  switch (pick % 4) {
    case 0:
      return { case: "cancel", reason: content === 0 ? "enough" : "" };
    case 1:
      return { case: "signal", signal: "go", payload: pick > 4 ? undefined : payload(content) };
    default:
      return {
        ...{ case: "child", workflow: "w", plan: childPlan, input: payload(content) },
        fingerprint: fingerprint(content),
        parentClose: oneOf([ParentClose.CANCEL, ParentClose.TERMINATE, ParentClose.DETACH], pick),
        runTimeoutMs: 0,
      };
  }
}

const childPlan = planOf({ only: {} }, "only").bytes;

/** A child ended; now and then one that never began, or whose id is another. */
function childEndOf(run: Run, move: Move): Exclude<Command, StartRun> {
  const open = run.obligations.filter(
    ({ declaration, ended }) => declaration.order.case === "child" && ended === undefined,
  );
  const among = move.aims && open.length > 0 ? open : run.obligations;
  const child = among.length === 0 ? undefined : oneOf(among, move.which);
  const isDone = move.pick % 2 === 0;
  return {
    kind: "EndChild",
    obligation: child?.number ?? 0,
    childRunId: move.pick === 11 ? "nobody" : (child?.declaration.runId ?? ""),
    status: isDone ? RunStatus.COMPLETED : RunStatus.FAILED,
    output: isDone ? payload(move.content) : undefined,
    failure: isDone ? undefined : failure(),
  };
}

/** A signal. */
export function signalOf(run: Run, move: Move): Exclude<Command, StartRun> {
  const isUpdate = move.which % 2 === 1 && move.pick % 3 !== 1;
  return {
    kind: "SendSignal",
    ...(isUpdate ? { isUpdate } : {}),
    name: isUpdate ? "update" : `signal${Math.floor(move.which / 2) % 2}`,
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
