import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { apply } from "@pawl/server/core/apply.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Machine, replay, throughDisk } from "../core/support/machine.js";
import { ledgerMoves, runMoves } from "./support/moves.js";
import { plan, startOf } from "./support/starts.js";
import { play, withRestarts } from "./support/turns.js";

/** Plays on a machine, and compares after each event the state that was kept in memory with the one that the log alone gives. */
function expectPrefixes(playOn: (machine: Machine) => void): void {
  const live: MutableRun[] = [];
  const machine = new Machine((state) => live.push(structuredClone(state)));
  playOn(machine);
  const [first, ...rest] = throughDisk(machine.events);
  if (first === undefined) return;
  const run = replay([first]);
  expect(run, "event 1").toEqual(live[0]);
  for (const [at, { body, meta }] of rest.entries()) {
    apply(run, body, meta, silentHooks);
    expect(run, `event ${at + 2}, ${body.case}`).toEqual(live[at + 1]);
  }
  expect(live).toHaveLength(machine.events.length);
}

it("after every prefix of a run's log, the log gives the state that was reached live", () => {
  fc.assert(
    fc.property(plan, withRestarts(runMoves), (chosen, moves) => {
      expectPrefixes((machine) => {
        machine.start(startOf(chosen));
        play(machine, moves);
      });
    }),
    { numRuns: 60 },
  );
});

it("after every prefix of the log of an operation without a run, too", () => {
  fc.assert(
    fc.property(ledgerMoves, (moves) => {
      expectPrefixes((machine) => play(machine, moves));
    }),
    { numRuns: 60 },
  );
});
