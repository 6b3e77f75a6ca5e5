import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import type { Obligation } from "@pawl/server/core/state.js";
import { isRunOpen } from "@pawl/server/core/transitions.js";
import type { ShadowLog, ShadowRun } from "./shadow-log.js";

/**
 * Parents and children by what the log tells at the end: each child was begun by the start that says so, once; its parent heard of its end what it was,
 * if it could; and none outlives a parent that was to take it along.
 */
export function checkChildren(shadow: ShadowLog, complain: (text: string) => void): void {
  const children = childrenOf(shadow, complain);
  for (const run of shadow.runs.values()) {
    const starts = run.state.obligations.filter(
      ({ declaration }) => declaration.order.case === "child",
    );
    for (const start of starts) {
      const key = `${run.number}/${start.number}`;
      const wrong = judge(run, start, children.get(key));
      if (wrong !== "") {
        complain(`child ${key} (${start.declaration.runId}) ${wrong}`);
      }
      children.delete(key);
    }
  }
  for (const key of children.keys()) {
    complain(`a run is the child of ${key}, which started none`);
  }
}

/** Children by the starts that they name. */
function childrenOf(shadow: ShadowLog, complain: (text: string) => void): Map<string, ShadowRun> {
  const children = new Map<string, ShadowRun>();
  for (const run of shadow.runs.values()) {
    const { parent } = run.state;
    const key = parent === undefined ? "" : `${parent.run}/${parent.obligation}`;
    if (children.has(key)) {
      complain(`two runs are the child of ${key}`);
    }
    if (parent !== undefined) {
      children.set(key, run);
    }
  }
  return children;
}

function judge(
  { state: parent }: ShadowRun,
  { status, ended, earlier, declaration }: Obligation,
  child: ShadowRun | undefined,
): string {
  if ((child === undefined) === (status === ObligationStatus.DELIVERED)) {
    return `was answered ${status}, but it ${child === undefined ? "is not there" : "is"}`;
  }
  if (child === undefined || parent.fault !== "" || child.state.fault !== "") {
    return "";
  }
  const { state } = child;
  const isGone = earlier || !isRunOpen(parent.status);
  const isDetached =
    declaration.order.case === "child" &&
    declaration.order.value.parentClose === ParentClose.DETACH;
  if (isGone) {
    return isRunOpen(state.status) && !isDetached ? "outlives its parent" : "";
  }
  const heard = ended?.status ?? "nothing";
  const expected = isRunOpen(state.status) ? "nothing" : state.status;
  return heard === expected ? "" : `is ${state.status}, but its parent heard ${heard}`;
}
