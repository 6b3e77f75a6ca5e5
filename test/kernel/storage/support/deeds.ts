import type { CheckpointOptions } from "@pawl/server/kernel/storage/checkpointer.js";
import fc from "fast-check";
import { ledgerMoves, type Move, runMoves } from "../../../property/support/moves.js";
import type { Deed } from "./crashing.js";

const oneMove = oneOf(runMoves);
const oneLedgerMove = oneOf(ledgerMoves);

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("start" as const), plan: fc.nat(5) }) },
  {
    weight: 30,
    arbitrary: fc.record({ kind: fc.constant("move" as const), run: fc.nat(9), move: oneMove }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("startAgain" as const),
      run: fc.nat(9),
      plan: fc.nat(5),
      request: fc.nat(9),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("ledger" as const),
      ledger: fc.nat(2),
      move: oneLedgerMove,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      ms: fc.constantFrom(10, 600, 1100, 20_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("hold" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("flush" as const), writes: fc.nat(3) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("powerCut" as const), keptWrites: fc.nat(4) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);

/** What a kernel goes through: runs and commands, time, a disk that holds writes back, power cuts and restarts. */
export const deeds: fc.Arbitrary<readonly Deed[]> = fc.array(deed, {
  minLength: 10,
  maxLength: 120,
  size: "max",
});

/** Rows are written after every commit, or only when they are old, or mostly when the kernel closes. */
export const checkpointOptions: fc.Arbitrary<CheckpointOptions> = fc.constantFrom(
  { beginBytes: 0, residentsMax: 2 },
  { beginAgeMs: 1000, residentsMax: 3 },
  { beginAgeMs: 60_000 },
);

function oneOf(moves: fc.Arbitrary<readonly Move[]>): fc.Arbitrary<Move> {
  return moves
    .filter((list) => list.length > 0)
    .map((list) => {
      const [move] = list;
      if (move === undefined) {
        throw new Error("no move");
      }
      return move;
    });
}
