import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import type { IntendOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { buildOperationKey, type OperationKey } from "../identity/operation-key.js";
import { planVersionOf } from "../plan/plan-versions.js";
import type { TaskSpec } from "../plan/task-spec.js";
import type { Run } from "../state.js";

/** The operation key of an intent or a proposal: the kernel builds it, callers never send it. */
export function keyOfOperation(
  run: Run,
  spec: TaskSpec | undefined,
  command: Pick<IntendOperation, "namespace" | "name" | "scope" | "key">,
  ctx: DecideContext,
): OperationKey {
  const discriminator = command.key;
  if (command.scope === OperationScope.NAMESPACE) {
    return buildOperationKey(
      {
        scope: "namespace",
        namespace: command.namespace,
        operation: command.name,
        discriminator: discriminator ?? "",
      },
      ctx.sha256,
    );
  }
  const bound = {
    namespace: run.namespace,
    runId: run.runId,
    incarnation: run.incarnation,
    operation: command.name,
    planVersion: spec === undefined ? 1 : planVersionOf(run, spec.number),
    discriminator,
  };
  return command.scope === OperationScope.RUN
    ? buildOperationKey({ scope: "run", ...bound }, ctx.sha256)
    : buildOperationKey({ scope: "task", ...bound, task: spec?.name ?? "" }, ctx.sha256);
}
