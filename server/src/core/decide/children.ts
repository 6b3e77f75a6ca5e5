import type { ObligationDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { EndChild } from "../command.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { notFound } from "../rejection.js";
import type { Obligation, Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { endWaits } from "./end-waits.js";
import { runOver } from "./find.js";

/** Why a child ends whose parent did. */
const closedReason = "Its parent has ended.";

/** The end of a wait for a child: it has ended, or it could not be started. */
export function endChildWaits(run: Run, obligation: number): EventBody[] {
  const subject = { case: "child", value: { obligation } } as const;
  return endWaits(run, subject, subject);
}

/**
 * Records how a child ended, and wakes whoever waits for it. Refusals, in order: no such child, the parent is over or has begun once more.
 * Only the first end of a child counts; any other is answered `existing`.
 */
export function decideEndChild(run: Run, command: EndChild): Decision {
  const { obligation: number, childRunId, status, output, failure } = command;
  const child = run.obligations[number];
  if (child?.declaration.order.case !== "child" || child.declaration.runId !== childRunId) {
    return reject(notFound("run", childRunId));
  }
  if (child.ended !== undefined) {
    return acceptExisting();
  }
  if (!isRunOpen(run.status) || child.earlier) {
    return reject(runOver(run, "EndChild"));
  }
  return accept([
    { case: "childEnded", value: { obligation: number, status, output, failure } },
    ...endChildWaits(run, number),
  ]);
}

/** What becomes of children whose parent has ended, or begun once more, before them. */
export function closeChildren(run: Run): EventBody[] {
  return [...run.strayChildren].flatMap((number) => {
    const child = run.obligations[number];
    return child === undefined ? [] : [oweClose(child)];
  });
}

function oweClose({ number, declaration }: Obligation): EventBody {
  const { runId, task, principal, order } = declaration;
  const value = { reason: closedReason, child: number + 1 };
  const isTerminated = order.case === "child" && order.value.parentClose === ParentClose.TERMINATE;
  return oweOwn({
    ...{ task, runId, principal },
    order: isTerminated ? { case: "terminate", value } : { case: "cancel", value },
  });
}

/** A child that has ended tells its parent. */
export function tellParent(run: Run): EventBody[] {
  const { parent, status } = run;
  if (parent === undefined) {
    return [];
  }
  const output = status === RunStatus.COMPLETED ? outputOf(run) : undefined;
  const failure = run.failure as FailureShape | undefined;
  const value = { child: parent.obligation, status, output, failure };
  const { principal } = run;
  return [oweOwn({ task: 0, runId: parent.runId, principal, order: { case: "ended", value } })];
}

/** What the kernel owes by itself has no name: no code asks for it. */
function oweOwn(parts: Omit<ObligationDeclarationShape, "name">): EventBody {
  const declaration = { name: "", ...parts };
  return { case: "obligationMade", value: { declaration, leaseVersion: 0, seenThrough: 0 } };
}

function outputOf(run: Run): Uint8Array | undefined {
  const { output } = run.plan;
  return output === undefined ? undefined : run.tasks[output]?.output;
}
