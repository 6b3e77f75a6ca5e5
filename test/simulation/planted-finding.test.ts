import type { ReconcileOperation } from "@pawl/server/core/command.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import type { Run } from "@pawl/server/core/state.js";
import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFreezing } from "./support/settings.js";

vi.mock("@pawl/server/core/decide/reconcile-operation.js", async (original) => {
  const { decideReconcileOperation } =
    await original<typeof import("@pawl/server/core/decide/reconcile-operation.js")>();
  return {
    // Whatever call was looked up is taken for the latest.
    decideReconcileOperation: (run: Run, command: ReconcileOperation, context: DecideContext) => {
      const number = run.operationsByKey.get(command.operationKey) ?? -1;
      const lookedUpIntentId = run.operations[number]?.intentId ?? "";
      return decideReconcileOperation(run, { ...command, lookedUpIntentId }, context);
    },
  };
});

it("the simulator finds a kernel that takes a finding for one about a later call", async () => {
  const found = await findPlanted({ draw: (seed) => drawFreezing(seed, 1_500), from: 101 });
  expect(found).toMatch(/its effect happened \d times/);
});
