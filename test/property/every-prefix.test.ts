import fc from "fast-check";
import { expect, it } from "vitest";
import { Machine, replay, throughDisk } from "../core/support/machine.js";
import { ledgerMoves, runMoves } from "./support/moves.js";
import { plan, startOf } from "./support/starts.js";
import { play, withRestarts } from "./support/turns.js";

/** After each command: the state that was kept in memory is the one that the log alone gives. */
function compare(machine: Machine): void {
  if (machine.run !== undefined) {
    expect(replay(throughDisk(machine.events))).toEqual(machine.run);
  }
}

it("after every prefix of a run's log, the log gives the state that was reached live", () => {
  fc.assert(
    fc.property(plan, withRestarts(runMoves), (chosen, moves) => {
      const machine = new Machine();
      machine.start(startOf(chosen));
      play(machine, moves, { after: () => compare(machine) });
    }),
    { numRuns: 60 },
  );
});

it("after every prefix of the log of an operation without a run, too", () => {
  fc.assert(
    fc.property(ledgerMoves, (moves) => {
      const machine = new Machine();
      play(machine, moves, { after: () => compare(machine) });
    }),
    { numRuns: 60 },
  );
});
