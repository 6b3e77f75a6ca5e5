import { encodeOperationRow, encodeReviewRow, encodeTaskRow } from "@pawl/proto/log/v1/row_wire.js";
import { rowOfOperation, rowOfReview, rowOfTask } from "@pawl/server/core/rows/run-to-rows.js";
import type { Run } from "@pawl/server/core/state.js";
import { operationStamp, reviewStamp } from "@pawl/server/kernel/storage/run-rows.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine } from "../../core/support/machine.js";
import { commandOf } from "../../property/support/command-of.js";
import { effectMoves, runMoves } from "../../property/support/moves.js";
import { effectPlan, plans, startOf } from "../../property/support/starts.js";

/** Row and stamp of every part of a run, by its name. */
function partsOf(run: Run): Map<string, { readonly row: string; readonly stamp: number }> {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  return new Map([
    ...run.tasks.map(
      (task) =>
        [
          `task ${task.number}`,
          { row: hex(encodeTaskRow(rowOfTask(run, task))), stamp: task.version },
        ] as const,
    ),
    ...run.operations.map(
      (operation) =>
        [
          `operation ${operation.number}`,
          {
            row: hex(encodeOperationRow(rowOfOperation(operation))),
            stamp: operationStamp(operation),
          },
        ] as const,
    ),
    ...run.reviews.map(
      (review) =>
        [
          `review ${review.number}`,
          { row: hex(encodeReviewRow(rowOfReview(review))), stamp: reviewStamp(review) },
        ] as const,
    ),
  ]);
}

describe("the number by which a checkpoint sees that a part has changed", () => {
  const cases = fc.oneof(
    fc.record({ plan: fc.constantFrom(...plans), moves: runMoves }),
    fc.record({ plan: fc.constant(effectPlan), moves: effectMoves }),
  );

  it("changes whenever the row of the part does, with every event", () => {
    fc.assert(
      fc.property(cases, ({ plan, moves }) => {
        const seen = new Map<string, string>();
        const machine = new Machine((run) => {
          for (const [name, { row, stamp }] of partsOf(run)) {
            // In the next incarnation all parts are written anew.
            const at = `${name} of ${run.incarnation} at ${stamp}`;
            expect(seen.get(at) ?? row, name).toBe(row);
            seen.set(at, row);
          }
        });
        machine.start(startOf(plan));
        for (const move of moves) {
          machine.nowMs += move.waitMs;
          machine.do(commandOf(machine.state, move));
        }
      }),
      { numRuns: 400 },
    );
  });
});
