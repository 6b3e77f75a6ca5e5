import {
  encodeInputRow,
  encodeObligationRow,
  encodeOperationRow,
  encodeProposalRow,
  encodeReviewRow,
  encodeSignalRow,
  encodeStepRow,
  encodeTaskRow,
  encodeWaitRow,
} from "@pawl/proto/log/v1/row_wire.js";
import {
  hasRow,
  rowOfInput,
  rowOfObligation,
  rowOfOperation,
  rowOfProposal,
  rowOfReview,
  rowOfSignal,
  rowOfStep,
  rowOfTask,
  rowOfWait,
} from "@pawl/server/core/rows/run-to-rows.js";
import type { Run } from "@pawl/server/core/state.js";
import type { StoredParts } from "@pawl/server/kernel/resident.js";
import { partVersions } from "@pawl/server/kernel/storage/run-rows.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine } from "../../core/support/machine.js";
import { commandOf } from "../../property/support/command-of.js";
import { effectMoves, runMoves } from "../../property/support/moves.js";
import { effectPlan, plans, startOf } from "../../property/support/starts.js";

interface Part {
  readonly row: string;
  readonly stamp: number | undefined;
}

/** Every part of a run that has a row of its own: the row, and the number by which a checkpoint sees that it changed. */
function partsOf(run: Run): Map<string, Part> {
  const versions = partVersions(run);
  const parts = new Map<string, Part>();
  const add = <P>(
    kind: Exclude<keyof StoredParts, "steps" | "planVersions">,
    each: readonly P[],
    encode: (part: P) => Uint8Array | undefined,
  ): void => {
    for (const [number, part] of each.entries()) {
      const row = encode(part);
      if (row === undefined) continue;
      const hex = Buffer.from(row).toString("hex");
      parts.set(`${kind} ${number}`, { row: hex, stamp: versions[kind][number] });
    }
  };
  add("tasks", run.tasks, (task) =>
    hasRow(task) ? encodeTaskRow(rowOfTask(run, task)) : undefined,
  );
  add("operations", run.operations, (one) => encodeOperationRow(rowOfOperation(one)));
  add("reviews", run.reviews, (review) => encodeReviewRow(rowOfReview(review)));
  add("waits", run.waits, (wait) => encodeWaitRow(rowOfWait(wait)));
  add("proposals", run.proposals, (proposal) => encodeProposalRow(rowOfProposal(proposal)));
  add("signals", run.signals, (signal) => encodeSignalRow(rowOfSignal(signal)));
  add("inputs", run.inputs, (input) => encodeInputRow(rowOfInput(input)));
  add("obligations", run.obligations, (one) => encodeObligationRow(rowOfObligation(one)));
  // A step is written once, and never again.
  for (const [number, step] of run.steps.entries()) {
    const row = Buffer.from(encodeStepRow(rowOfStep(step))).toString("hex");
    parts.set(`steps ${number}`, { row, stamp: number < versions.steps ? 1 : undefined });
  }
  return parts;
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
            // In the next incarnation, and after a rewind, all parts are written anew.
            const at = `${name} of ${run.incarnation}/${run.rewinds.length} at ${stamp}`;
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
