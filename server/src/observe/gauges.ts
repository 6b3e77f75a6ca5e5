import { Gauge, type Registry } from "prom-client";
import type { EdgeGauges, KernelGauges } from "./meter.js";

/** A gauge without labels: its name, what it says, and how it is read. */
type Plain<State> = readonly [
  name: string,
  help: string,
  read: (state: State) => number | undefined,
];

const ofKernel: readonly Plain<KernelGauges>[] = [
  [
    "pawl_open_runs",
    "Runs that have not ended. Absent until a start has counted them.",
    (state) => state.openRuns,
  ],
  ["pawl_resident_runs", "Runs in memory.", (state) => state.residentRuns],
  ["pawl_leases", "Tasks that a worker holds.", (state) => state.leases],
  ["pawl_worker_sessions", "Worker sessions that are connected.", (state) => state.sessions],
  ["pawl_watchers", "Watches of runs and namespaces that are open.", (state) => state.watchers],
  ["pawl_waiters", "Callers that wait for the end of a run.", (state) => state.waiters],
  ["pawl_deadlines", "Tasks for which something is due at some time.", (state) => state.deadlines],
  [
    "pawl_overdue_seconds",
    "How late the earliest lease end or deadline is that was not acted upon yet. 0 when none is.",
    (state) => state.overdueMs / 1000,
  ],
  [
    "pawl_postponed_starts",
    "Starts that wait because the rows lag too far behind the log.",
    (state) => state.postponedStarts,
  ],
  [
    "pawl_held_up_obligations",
    "What runs owe each other that cannot be delivered yet: the other run is being read, or could not answer.",
    (state) => state.heldUpObligations,
  ],
  [
    "pawl_live_output_bytes",
    "Bytes of live output that is kept for its readers.",
    (state) => state.liveOutputBytes,
  ],
  [
    "pawl_parked_bytes",
    "Bytes of commands that wait for their runs to be read.",
    (state) => state.parkedBytes,
  ],
  [
    "pawl_contained_faults",
    "Faults of the kernel's own code that it keeps in mind, at most 100.",
    (state) => state.faults,
  ],
  ["pawl_head_sequence", "Sequence of the last durable event.", (state) => state.headSequence],
  [
    "pawl_horizon_lag_events",
    "Durable events that are in no rows yet: a start reads them again.",
    (state) => state.headSequence - state.horizonSequence,
  ],
  [
    "pawl_horizon_lag_bytes",
    "Bytes of events that are in no rows yet.",
    (state) => state.unsavedBytes,
  ],
  [
    "pawl_log_trimmed_sequence",
    "Sequence up to which the log was trimmed: watches of a namespace go on from later positions only.",
    (state) => state.trimmedSequence,
  ],
  ["pawl_log_bytes", "Bytes of the segments that are kept, about.", (state) => state.logBytes],
  [
    "pawl_compactions",
    "How often room of removed rows was given back to the disk since the start.",
    (state) => state.compactions,
  ],
  [
    "pawl_compact_waiting_bytes",
    "Bytes that were removed and wait to be given back to the disk.",
    (state) => state.compactWaitingBytes,
  ],
  [
    "pawl_disk_low",
    "1 while new runs are refused because the disk is nearly full.",
    (state) => (state.isDiskLow ? 1 : 0),
  ],
  [
    "pawl_read_only",
    "1 while the kernel takes nothing new, since something acknowledged is gone.",
    (state) => (state.isReadOnly ? 1 : 0),
  ],
  [
    "pawl_open_work_known",
    "1 once a start has found all that is open.",
    (state) => (state.isOpenWorkKnown ? 1 : 0),
  ],
];

const ofEdge: readonly Plain<EdgeGauges>[] = [
  [
    "pawl_open_calls",
    "Calls that are open, streams of workers and of Submit not counted.",
    (state) => state.calls,
  ],
  ["pawl_connections", "Connections that are open.", (state) => state.connections],
];

/** Registers what is read from a kernel. */
export function kernelGauges(registry: Registry, read: () => KernelGauges): void {
  plainGauges(registry, ofKernel, read);
}

/** Registers what is read from the edge. */
export function edgeGauges(registry: Registry, read: () => EdgeGauges): void {
  plainGauges(registry, ofEdge, read);
  const streams: Gauge<"method"> = new Gauge({
    registers: [registry],
    name: "pawl_streams",
    help: "Streams that are open both ways, by method.",
    labelNames: ["method"],
    collect: () => {
      streams.reset();
      for (const [method, count] of read().streams) {
        streams.set({ method }, count);
      }
    },
  });
}

function plainGauges<State>(
  registry: Registry,
  gauges: readonly Plain<State>[],
  read: () => State,
): void {
  for (const [name, help, value] of gauges) {
    const gauge: Gauge = new Gauge({
      registers: [registry],
      name,
      help,
      collect: () => {
        const now = value(read());
        if (now === undefined) {
          gauge.remove();
        } else {
          gauge.set(now);
        }
      },
    });
  }
}
