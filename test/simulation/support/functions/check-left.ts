import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { isRunOpen, isTaskClosed } from "@pawl/server/core/transitions.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import type { ShadowLog } from "../shadow-log.js";

/** Nothing of a run that is over is left: no task, wait or question in its state, no lease and no timer in the kernel's memory. */
export function checkLeft(
  kernel: Kernel,
  shadow: ShadowLog,
  complain: (text: string) => void,
): void {
  let openRuns = 0;
  let openProposals = 0;
  for (const { number, state } of shadow.runs.values()) {
    openProposals += state.openProposals.size;
    if (state.kind === "ledger") {
      continue;
    }
    if (isRunOpen(state.status)) {
      openRuns++;
      continue;
    }
    const left = [
      ...state.tasks
        .filter(({ status }) => !isTaskClosed(status))
        .map((one) => `task ${one.number}`),
      ...state.waits
        .filter(({ closedAtMs }) => closedAtMs === 0)
        .map((one) => `wait ${one.number}`),
      ...state.inputs
        .filter(({ status }) => status === InputStatus.OPEN)
        .map((one) => `question ${one.number}`),
    ];
    if (left.length > 0) {
      complain(`run ${number} is over, but left are ${left}`);
    }
  }
  const gauges = kernel.gauges();
  if (gauges.openRuns !== openRuns) {
    complain(`${openRuns} runs are open, but the kernel counts ${gauges.openRuns}`);
  }
  if (openRuns === 0 && (gauges.leases > 0 || gauges.deadlines > openProposals)) {
    complain(
      `no run is open, but the kernel has ${gauges.leases} leases and ${gauges.deadlines} timers`,
    );
  }
}
