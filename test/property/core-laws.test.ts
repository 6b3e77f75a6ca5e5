import { isDeepStrictEqual } from "node:util";
import { decide } from "@pawl/server/core/decide.js";
import { findUnfinished, findViolations } from "@pawl/server/core/invariants.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine, replay, throughDisk } from "../core/support/machine.js";
import { ledgerMoves, runMoves } from "./support/moves.js";
import { restart, restartOf } from "./support/restarts.js";
import { plan, startOf } from "./support/starts.js";
import { always, play, withRestarts } from "./support/turns.js";

describe("whatever is asked, in whatever order, with crashes in between", () => {
  it("replaying the events gives the state", () => {
    always((make, turns) => {
      const machine = make();
      play(machine, turns);
      if (machine.run !== undefined) {
        expect(replay(throughDisk(machine.events))).toEqual(machine.run);
      }
    });
  });

  it("every invariant holds after every event, and nothing is left to do after every command", () => {
    fc.assert(
      fc.property(plan, withRestarts(runMoves), (chosen, moves) => {
        const machine = new Machine((run) => expect(findViolations(run)).toEqual([]));
        machine.start(startOf(chosen));
        play(machine, moves, { after: ({ state }) => expect(findUnfinished(state)).toEqual([]) });
      }),
      { numRuns: 400 },
    );
    fc.assert(
      fc.property(ledgerMoves, (moves) => {
        play(new Machine((run) => expect(findViolations(run)).toEqual([])), moves);
      }),
      { numRuns: 200 },
    );
  });

  it("decide changes nothing, and answers the same again", () => {
    always((make, turns) => {
      const machine = make();
      play(machine, turns, {
        before: (run, command) => {
          const copy = structuredClone(run);
          const context = machine.context({ random: () => 0.5 });
          const first = structuredClone(decide(run, command, context));
          expect(isDeepStrictEqual(run, copy)).toBe(true);
          expect(isDeepStrictEqual(structuredClone(decide(run, command, context)), first)).toBe(
            true,
          );
        },
      });
    });
  });

  it("a refused command records nothing, and one said to exist records nothing", () => {
    always((make, turns) => {
      const machine = make();
      let before = 0;
      play(machine, turns, {
        before: () => {
          before = machine.events.length;
        },
        after: (_machine, _command, decision) => {
          // What a worker says of a task that was superseded is refused, and kept.
          const evidence = decision.accepted ? [] : (decision.evidence ?? []);
          if (!decision.accepted || decision.reply.existing) {
            expect(machine.events.length).toBe(before + evidence.length);
          }
        },
      });
    });
  });

  it("the same command again changes nothing", () => {
    always((make, turns) => {
      const machine = make();
      play(machine, turns, {
        after: (_machine, command, decision, parts) => {
          // A deadline is no request: when its task has another one due, that one acts.
          if (command.kind !== "FireDeadline" && decision.accepted) {
            const count = machine.events.length;
            machine.do(command, parts);
            expect(machine.events.slice(count).map(({ body }) => body.case)).toEqual([]);
          }
        },
      });
    });
  });
});

describe("however often a run is started", () => {
  it("each request begins one incarnation at most, and incarnations are counted without a gap", () => {
    always((make, turns) => {
      const machine = make();
      play(machine, turns);
      const requests: string[] = [];
      let incarnation = 1;
      for (const { body, meta } of machine.events) {
        if (body.case === "runContinued") {
          expect(body.value.incarnation).toBe(++incarnation);
        } else if (body.case === "runRestarted") {
          expect(body.value.incarnation).toBe(++incarnation);
          requests.push(body.value.requestId);
          expect(meta.number).toBeGreaterThan(1);
        }
      }
      const { startRequests } = machine.state;
      const remembered = startRequests.map(({ requestId }) => requestId);
      expect(new Set(remembered).size).toBe(remembered.length);
      expect(requests.slice(-1)).toEqual(remembered.slice(-1));
    });
  });

  it("the same start again changes nothing", () => {
    fc.assert(
      fc.property(plan, withRestarts(runMoves), restart, (chosen, turns, again) => {
        const machine = new Machine();
        machine.start(startOf(chosen));
        play(machine, turns);
        machine.start(restartOf(again));
        const count = machine.events.length;
        const second = machine.start(restartOf(again));
        expect(machine.events).toHaveLength(count);
        expect(second.accepted ? second.reply.existing : true).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
