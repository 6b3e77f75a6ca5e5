import type { ItemResultShape, StepItemShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { TaskRef } from "../../core/command.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import type { Rejection } from "../../core/rejection.js";
import { stepIdentity } from "../../core/state.js";
import type { Target } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { rejectionShape } from "../rejection-shape.js";
import { isSameJson, mayBeSame } from "../same-json.js";
import { stepShape } from "./records.js";

/** A step that was refused because another value is recorded. */
export interface RefusedStep {
  readonly target: Target;
  readonly task: TaskRef;
  readonly item: StepItemShape;
  readonly rejection: Rejection;
}

/** True when the refused value and the recorded one might be the same JSON document. */
export function mayBeSameStep({
  item,
  rejection,
}: Pick<RefusedStep, "item" | "rejection">): boolean {
  return item.outcome.case === "value" && mayBeSame(rejection, item.outcome.value);
}

/** The answer after all: `existing` with the recorded step when both values are the same JSON document, else the refusal. */
export async function reconsiderStep(edge: Edge, refused: RefusedStep): Promise<ItemResultShape> {
  const { target, task, item, rejection } = refused;
  const refusal: ItemResultShape = {
    correlation: item.correlation,
    existing: false,
    rejection: rejectionShape(rejection),
  };
  const recorded = await edge.kernel.view(target, (run) => {
    const number = typeof task === "number" ? task : (taskNumber(run, task) ?? -1);
    const step = run.stepsByIdentity.get(stepIdentity(number, item.name, item.key));
    const found = step === undefined ? undefined : run.steps[step];
    return found === undefined ? undefined : stepShape(found);
  });
  if (recorded?.value === undefined || item.outcome.case !== "value") {
    return refusal;
  }
  const comparison = { target, recorded: recorded.value, received: item.outcome.value };
  return (await isSameJson(edge, comparison))
    ? { correlation: item.correlation, existing: true, step: recorded }
    : refusal;
}
