import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { KernelGauges } from "../observe/meter.js";
import type { KernelParts } from "./kernel-parts.js";
import type { Resident } from "./resident.js";

/** State of a kernel, for metrics. Read when someone asks; nothing of it is kept up to date meanwhile. */
export function gaugesOf(parts: KernelParts, isOpenWorkKnown: boolean): KernelGauges {
  const { loop, sessions, checkpointer, compactor, watchHub, disk, hold } = parts;
  const { work, waiters, residency, faults } = loop;
  return {
    openRuns: work.openRuns.count,
    residentRuns: residency.size,
    leases: work.leases.size,
    sessions: sessions.connected,
    watchers: watchHub.size,
    waiters: waiters.size,
    deadlines: work.armedDeadlines,
    overdueMs: work.overdueMs,
    postponedStarts: loop.postponedStarts,
    heldUpObligations: loop.obligations.heldUp,
    liveOutputBytes: work.output.bytes,
    parkedBytes: loop.parkedBytes,
    faults: faults.faults.length,
    headSequence: loop.durableSequence,
    horizonSequence: checkpointer.horizon.sequence,
    unsavedBytes: checkpointer.unsavedBytes,
    trimmedSequence: checkpointer.anchor.sequence,
    logBytes: checkpointer.logBytes,
    compactions: compactor.status.rounds,
    compactWaitingBytes: compactor.status.waitingBytes,
    isDiskLow: disk.isLow,
    isReadOnly: hold.loss !== undefined,
    isOpenWorkKnown,
    queues: () => work.dispatcher.queues(),
    backoffs: () => countBackoffs(residency.values()),
  };
}

function countBackoffs(residents: Iterable<Resident>): number {
  let count = 0;
  for (const { run } of residents) {
    if (run.openTasks === 0) continue;
    for (const { status } of run.tasks) if (status === TaskStatus.BACKOFF) count++;
  }
  return count;
}
