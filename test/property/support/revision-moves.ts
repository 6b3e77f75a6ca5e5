import { decodePlan, encodePlan, type PlanShape } from "@pawl/proto/v1/plan_wire.js";
import type { RevisePlan } from "@pawl/server/core/command.js";
import { type CompileResult, compilePlan } from "@pawl/server/core/plan/compile-plan.js";
import { presentPlan, presentPlanVersion } from "@pawl/server/core/plan/plan-versions.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import type { Run } from "@pawl/server/core/state.js";
import { payload } from "../../core/support/values.js";
import { leaseOf } from "./aims.js";
import type { Move } from "./moves.js";

/** A revision of the present plan: one edit of it, sometimes none, by a person or by code. */
export function revisionOf(run: Run, move: Move): RevisePlan {
  const present = presentPlan(run);
  const compiled = edited(present, move);
  const lease = leaseOf(run, move);
  const isOfCode = move.pick % 3 === 0;
  return {
    kind: "RevisePlan",
    expectedPlanVersion: isOfCode && move.aims ? undefined : presentPlanVersion(run) - move.stale,
    plan: compiled.ok ? compiled.plan : present,
    reason: "better",
    isDryRun: move.pick === 11,
    proposer: isOfCode
      ? { ...lease, record: `plan${move.which % 3}`, key: undefined, seenThrough: run.eventCount }
      : undefined,
    alike: undefined,
  };
}

function edited(present: CompiledPlan, move: Move): CompileResult {
  if (present.bytes.length === 0) {
    return { ok: true, plan: present }; // A ledger has no plan.
  }
  const shape = decodePlan(present.bytes);
  return compilePlan(encodePlan(edit(shape, move)));
}

function edit(shape: PlanShape, { pick, which }: Move): PlanShape {
  const at = which % shape.tasks.length;
  const task = shape.tasks[at];
  if (task === undefined) {
    return shape;
  }
  const others = shape.tasks.filter((_each, place) => place !== at);
  const put = (changed: typeof task): PlanShape => ({
    ...shape,
    tasks: shape.tasks.map((each, place) => (place === at ? changed : each)),
  });
  switch (pick % 6) {
    case 0:
    case 1:
      return put({ ...task, input: payload({ edit: pick }) });
    case 2: {
      const tasks = others.map((each) => ({
        ...each,
        needs: each.needs.filter((need) => need !== task.name),
        join: undefined,
      }));
      return { tasks, output: shape.output === task.name ? "" : shape.output };
    }
    case 3: {
      const name = `extra${which}`;
      const extra = { ...task, name, needs: [task.name], join: undefined };
      return others.some((each) => each.name === name) || task.name === name
        ? shape
        : { ...shape, tasks: [...shape.tasks, extra] };
    }
    case 4:
      return put({ ...task, priority: which % 10, queue: `q${pick}` });
    default:
      return put({ ...task, needs: task.needs.slice(1), join: undefined });
  }
}
