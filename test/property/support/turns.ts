import type { Command, StartRun } from "@pawl/server/core/command.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import type { Decision } from "@pawl/server/core/decision.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import fc from "fast-check";
import { Machine } from "../../core/support/machine.js";
import { contextOf } from "./approval-moves.js";
import { commandOf } from "./command-of.js";
import { ledgerMoves, type Move, runMoves } from "./moves.js";
import { type Restart, restart, restartOf } from "./restarts.js";
import { plan, startOf } from "./starts.js";

/** A move, a further start, or the loss of the last commits. */
export type Turn = Move | { readonly lostCommits: number } | Again;

/** The run is started once more, as a caller that does not know better would. */
export interface Again {
  readonly restart: Restart;
}

const crash = fc.record({ lostCommits: fc.nat({ max: 3 }) });

/** Loses the last commits in between. */
export function withCrashes(moves: fc.Arbitrary<readonly Move[]>): fc.Arbitrary<readonly Turn[]> {
  return fc
    .tuple(moves, fc.array(fc.tuple(fc.nat(60), crash), { maxLength: 3 }))
    .map(([all, crashes]) => {
      const turns: Turn[] = [...all];
      for (const [place, lost] of crashes) {
        turns.splice(Math.min(place, turns.length), 0, lost);
      }
      return turns;
    });
}

/** Starts the run once more in between. */
export function withRestarts(turns: fc.Arbitrary<readonly Turn[]>): fc.Arbitrary<readonly Turn[]> {
  return fc
    .tuple(turns, fc.array(fc.tuple(fc.nat(60), restart), { maxLength: 4 }))
    .map(([all, restarts]) => {
      const more: Turn[] = [...all];
      for (const [place, again] of restarts) {
        more.splice(Math.min(place, more.length), 0, { restart: again });
      }
      return more;
    });
}

/** Called after each command with what was decided about it, and on which state. */
export interface Watcher {
  readonly before?: (run: MutableRun, command: Exclude<Command, StartRun>) => void;
  readonly after?: (
    machine: Machine,
    command: Exclude<Command, StartRun>,
    decision: Decision,
    parts: Partial<DecideContext>,
  ) => void;
}

/** Plays turns on a machine, one after the other. */
export function play(machine: Machine, turns: readonly Turn[], watcher: Watcher = {}): void {
  for (const turn of turns) {
    if ("lostCommits" in turn) {
      if (machine.run !== undefined) {
        machine.crash(turn.lostCommits);
      }
      continue;
    }
    if ("restart" in turn) {
      machine.nowMs += turn.restart.waitMs;
      if (machine.run?.kind === "run") {
        machine.start(restartOf(turn.restart));
      }
      continue;
    }
    machine.nowMs += turn.waitMs;
    const command = commandOf(machine.state, turn);
    watcher.before?.(machine.state, command);
    const parts = contextOf(turn);
    const decision = machine.do(command, parts);
    watcher.after?.(machine, command, decision, parts);
  }
}

/** Checks a law over random sequences on runs and on operations of scope NAMESPACE. */
export function always(law: (make: () => Machine, turns: readonly Turn[]) => void): void {
  fc.assert(
    fc.property(plan, withRestarts(withCrashes(runMoves)), (chosen, turns) => {
      law(() => {
        const machine = new Machine();
        machine.start(startOf(chosen));
        return machine;
      }, turns);
    }),
    { numRuns: 400 },
  );
  fc.assert(
    fc.property(withCrashes(ledgerMoves), (turns) => {
      law(() => new Machine(), turns);
    }),
    { numRuns: 200 },
  );
}
