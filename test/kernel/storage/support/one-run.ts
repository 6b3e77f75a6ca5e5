import type { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import type { Target } from "@pawl/server/kernel/outcome.js";
import { segmentKey } from "@pawl/server/log/key.js";
import { readSegment, type Segment } from "@pawl/server/log/segment.js";
import type { Store } from "@pawl/server/log/store.js";
import { completeTask, endLease, leaseTask, startRun } from "../../../core/support/commands.js";
import { planOf } from "../../../core/support/plans.js";
import { type MemoryKernel, testPartition } from "../../../support/kernel.js";

/** A plan of one task. */
export const onePlan: CompiledPlan = planOf({ only: {} });

/** A run of the namespace `default`. */
export function runOf(runId: string): Target {
  return { kind: "run", namespace: "default", runId };
}

/** Starts a run and waits until that is durable. */
export async function start(
  memory: MemoryKernel,
  runId: string,
  plan: CompiledPlan = onePlan,
): Promise<number> {
  const started = memory.kernel.ask(runOf(runId), startRun(plan, { runId }));
  await memory.time.settle();
  const outcome = await started;
  if (!outcome.accepted) {
    throw new Error(outcome.rejection.message);
  }
  return outcome.runNumber;
}

/** Leases task 0 and waits until that is durable. */
export async function lease(memory: MemoryKernel, runId: string): Promise<void> {
  const leased = memory.kernel.ask(runOf(runId), leaseTask(0));
  await memory.time.settle();
  await leased;
}

/** Ends the lease of task 0 and waits until that is durable. */
export async function giveBack(
  memory: MemoryKernel,
  runId: string,
  parts: { readonly version: number; readonly reason?: LeaseEndReason },
): Promise<void> {
  const ended = memory.kernel.ask(runOf(runId), endLease(parts.version, parts.reason));
  await memory.time.settle();
  await ended;
}

/** Starts a run of one task and completes it; all of it is durable, nothing need be saved. */
export async function finish(memory: MemoryKernel, runId: string): Promise<number> {
  const number = await start(memory, runId);
  await lease(memory, runId);
  const completed = memory.kernel.ask(runOf(runId), completeTask(1));
  await memory.time.settle();
  await completed;
  return number;
}

/** All segments of a store. */
export async function segmentsOf(store: Store): Promise<Segment[]> {
  const range = segmentKey.range({ partition: testPartition });
  const rows = await store.read({ ...range, limit: 100_000 });
  return rows.map(({ key, value }) => readSegment(key, value));
}
