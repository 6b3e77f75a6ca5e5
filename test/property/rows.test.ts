import {
  decodeInputRow,
  decodeObligationRow,
  decodeOperationRow,
  decodePlanVersionRow,
  decodeProposalRow,
  decodeReviewRow,
  decodeRunRow,
  decodeSignalRow,
  decodeStepRow,
  decodeTaskRow,
  decodeWaitRow,
  encodeInputRow,
  encodeObligationRow,
  encodeOperationRow,
  encodePlanVersionRow,
  encodeProposalRow,
  encodeReviewRow,
  encodeRunRow,
  encodeSignalRow,
  encodeStepRow,
  encodeTaskRow,
  encodeWaitRow,
} from "@pawl/proto/log/v1/row_wire.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import { decide } from "@pawl/server/core/decide.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import {
  type ChunkMark,
  inlineRun,
  type RunRows,
  splitRows,
} from "@pawl/server/core/rows/run-to-rows.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine } from "../core/support/machine.js";
import { contextOf } from "./support/approval-moves.js";
import { commandOf } from "./support/command-of.js";
import { ledgerMoves, type Move, runMoves } from "./support/moves.js";
import { plan, startOf } from "./support/starts.js";

const chunk: ChunkMark = { count: 3, hash: new Uint8Array(32).fill(7) };

function throughDisk(rows: RunRows): RunRows {
  return {
    run: decodeRunRow(encodeRunRow(rows.run)),
    tasks: rows.tasks.map((row) => decodeTaskRow(encodeTaskRow(row))),
    operations: rows.operations.map((row) => decodeOperationRow(encodeOperationRow(row))),
    steps: rows.steps.map((row) => decodeStepRow(encodeStepRow(row))),
    reviews: rows.reviews.map((row) => decodeReviewRow(encodeReviewRow(row))),
    waits: rows.waits.map((row) => decodeWaitRow(encodeWaitRow(row))),
    proposals: rows.proposals.map((row) => decodeProposalRow(encodeProposalRow(row))),
    signals: rows.signals.map((row) => decodeSignalRow(encodeSignalRow(row))),
    inputs: rows.inputs.map((row) => decodeInputRow(encodeInputRow(row))),
    obligations: rows.obligations.map((row) => decodeObligationRow(encodeObligationRow(row))),
    planVersions: rows.planVersions.map((row) => decodePlanVersionRow(encodePlanVersionRow(row))),
  };
}

function play(machine: Machine, moves: readonly Move[]): void {
  for (const move of moves) {
    machine.nowMs += move.waitMs;
    machine.do(commandOf(machine.state, move), contextOf(move));
  }
}

function expectRestored(run: MutableRun): void {
  const split = throughDisk(splitRows(run, chunk));
  expect(restoreRun(split, compileRecordedPlan)).toEqual(run);
  const inside = decodeRunRow(encodeRunRow(inlineRun(run, chunk)));
  const alone = {
    run: inside,
    ...{ tasks: [], operations: [], steps: [], reviews: [], waits: [], proposals: [] },
    ...{ signals: [], inputs: [], obligations: [], planVersions: [] },
  };
  expect(restoreRun(alone, compileRecordedPlan)).toEqual(run);
}

describe("rows", () => {
  it("give back the state of a run, in rows of their own and inside one", () => {
    fc.assert(
      fc.property(plan, runMoves, (chosen, moves) => {
        const machine = new Machine();
        machine.start(startOf(chosen));
        play(machine, moves);
        expectRestored(machine.state);
      }),
      { numRuns: 300 },
    );
  });

  it("give back a state that decides everything as the one it was made from", () => {
    fc.assert(
      fc.property(plan, runMoves, runMoves, (chosen, before, after) => {
        const machine = new Machine();
        machine.start(startOf(chosen));
        play(machine, before);
        const restored = restoreRun(
          throughDisk(splitRows(machine.state, chunk)),
          compileRecordedPlan,
        );
        for (const move of after) {
          const command = commandOf(machine.state, move);
          const context = machine.context({ nowMs: machine.nowMs + move.waitMs });
          expect(decide(restored, command, context)).toEqual(
            decide(machine.state, command, context),
          );
        }
      }),
      { numRuns: 100 },
    );
  });

  it("give back the state of an operation of scope NAMESPACE", () => {
    fc.assert(
      fc.property(ledgerMoves, (moves) => {
        const machine = new Machine();
        play(machine, moves);
        fc.pre(machine.run !== undefined);
        expect(machine.state.kind).toBe("ledger");
        expectRestored(machine.state);
      }),
      { numRuns: 200 },
    );
  });
});
