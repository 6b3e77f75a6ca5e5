import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import {
  isFinal,
  isSettled,
  proposalTransitions,
  runTransitions,
  taskTransitions,
} from "@pawl/server/core/transitions.js";

/** Everything of a state that may never change again, by a name for it. */
export function finalParts(run: MutableRun): Map<string, unknown> {
  const parts = new Map<string, unknown>();
  if (isFinal(runTransitions, run.status)) {
    parts.set("run", [run.status, run.closedAtMs, structuredClone(run.failure)]);
  }
  for (const task of run.tasks.filter(({ status }) => isFinal(taskTransitions, status))) {
    // How many of its needs completed is counted on, and so are what it called and what is unsettled.
    const derived = { openNeeds: 0, spareNeeds: 0, calls: undefined, unsettled: undefined };
    // That its worker spoke of it when it was superseded is noted, once.
    const isSuperseded = task.status === TaskStatus.SUPERSEDED;
    const noted = isSuperseded ? { version: 0, reportedLeaseVersion: 0 } : {};
    // What a person changed stays; the specification that it makes follows the plan.
    const change = task.change && { ...task.change, spec: undefined };
    parts.set(`task ${task.number}`, structuredClone({ ...task, ...derived, ...noted, change }));
  }
  for (const operation of run.operations.filter(({ status }) => isSettled(status))) {
    parts.set(
      `operation ${operation.number}`,
      structuredClone({ ...operation, openReview: undefined }),
    );
  }
  for (const proposal of run.proposals.filter(({ status }) =>
    isFinal(proposalTransitions, status),
  )) {
    // That it was revised may come later.
    parts.set(
      `proposal ${proposal.number}`,
      structuredClone({ ...proposal, revisedBy: undefined }),
    );
  }
  for (const step of run.steps) {
    parts.set(`step ${step.number}`, structuredClone(step));
  }
  for (const wait of run.waits.filter(({ closedAtMs }) => closedAtMs !== 0)) {
    parts.set(`wait ${wait.number}`, structuredClone(wait));
  }
  for (const signal of run.signals.filter(({ takenBy }) => takenBy !== undefined)) {
    // An update is answered later, once.
    parts.set(`signal ${signal.number}`, structuredClone({ ...signal, answer: undefined }));
    if (signal.answer !== undefined) {
      parts.set(`answer ${signal.number}`, structuredClone(signal.answer));
    }
  }
  for (const input of run.inputs.filter(({ closedAtMs }) => closedAtMs !== 0)) {
    parts.set(`input ${input.number}`, structuredClone(input));
  }
  return parts;
}
