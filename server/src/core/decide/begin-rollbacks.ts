import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import type { EventBody } from "../event.js";
import { utf8ByteLength } from "../identity/utf8.js";
import { limits } from "../limits.js";
import { isTaken, plannedSpec } from "../plan/tasks-of-run.js";
import type { Run } from "../state.js";

/** Begins to roll back the tasks that ended without success after they had recorded how to. */
export function beginRollbacks(run: Run): readonly EventBody[] {
  return [...run.rollbacksDue].map((task) => ({
    case: "rollbackBegan",
    value: { task, rollback: rollbackOf(run, task) },
  }));
}

/** The same kind and lease, so that the same workers serve it as fast; tried again by the default policy, and then, or when it fails for good, a person is asked. */
function rollbackOf(run: Run, number: number): PlanTaskShape {
  const spec = plannedSpec(run, number);
  return {
    name: nameOfRollback(run, number, spec?.name ?? ""),
    kind: spec?.kind ?? "",
    queue: spec?.queue ?? "",
    needs: [],
    priority: spec?.priority ?? 0,
    retry: {
      attemptsMax: 0,
      backoffCoefficient: 0,
      nonRetryable: [],
      onExhausted: OnExhausted.ASK,
      workerLossesMax: 0,
    },
    timeouts: { lease: durationOf(spec?.leaseMs ?? limits.leaseMsDefault) },
  };
}

function durationOf(ms: number): { readonly seconds: bigint; readonly nanos: number } {
  const seconds = Math.floor(ms / 1_000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 };
}

/** `$rollback/` and the task's name; its number when that is too long, or taken. */
function nameOfRollback(run: Run, number: number, task: string): string {
  const name = `$rollback/${task}`;
  const isFine = utf8ByteLength(name) <= limits.idBytesMax && !isTaken(run, name);
  return isFine ? name : `$rollback//${number}`;
}
