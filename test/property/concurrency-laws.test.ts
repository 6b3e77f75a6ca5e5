import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { findUnfinished, findViolations } from "@pawl/server/core/invariants.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine, replay, throughDisk } from "../core/support/machine.js";
import { findUnapprovedCalls } from "./support/approved-calls.js";
import { findUnfoundedCalls } from "./support/effects.js";
import { finalParts } from "./support/final-parts.js";
import { LeaseVersions } from "./support/lease-versions.js";
import { approvalMoves, effectMoves, onwardMoves } from "./support/moves.js";
import { effectPlan, plan, startOf } from "./support/starts.js";
import { always, play, type Turn, withCrashes } from "./support/turns.js";

describe("however the claims, reports and calls of many workers meet", () => {
  it("a READY task goes to exactly one of many claimers", () => {
    fc.assert(
      fc.property(plan, onwardMoves, fc.integer({ min: 2, max: 5 }), (chosen, moves, claimers) => {
        const machine = new Machine();
        machine.start(startOf(chosen));
        play(machine, moves);
        for (const task of machine.state.tasks) {
          const isReady =
            task.status === TaskStatus.READY && machine.state.status === RunStatus.RUNNING;
          const claims = Array.from({ length: claimers }, (_, number) =>
            machine.do({
              kind: "LeaseTask",
              task: task.number,
              sessionId: `s${number}`,
              worker: "w",
            }),
          );
          expect(claims.filter(({ accepted }) => accepted)).toHaveLength(isReady ? 1 : 0);
          if (isReady) {
            expect(task.sessionId).toBe("s0");
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("lease versions only rise, and no report of an older lease moves its task", () => {
    always((make, turns) => {
      const machine = make();
      play(machine, turns);
      const leases = new LeaseVersions();
      for (const { body } of machine.events) {
        leases.hear(body);
      }
    });
  });

  it("what is final stays: ended tasks and runs, settled operations, recorded steps", () => {
    always((make, turns) => {
      const machine = make();
      let final = finalParts(machine.state);
      let { incarnation } = machine.state;
      play(
        machine,
        turns.filter((turn) => !("lostCommits" in turn || "restart" in turn || goesBack(turn))),
        {
          after: ({ state }) => {
            const now = finalParts(state);
            const isContinued = state.incarnation !== incarnation; // Its parts are new then.
            incarnation = state.incarnation;
            for (const [name, part] of isContinued ? [] : final) {
              expect([name, now.get(name)]).toEqual([name, part]);
            }
            final = now;
          },
        },
      );
    });
  });

  it("no sink is called again without a reason why the earlier calls had no effect or cannot have a second one", () => {
    const judge = (machine: Machine, turns: readonly Turn[]): void => {
      play(machine, turns);
      expect(findUnfoundedCalls(machine.events)).toEqual([]);
    };
    always((make, turns) => judge(make(), turns));
    fc.assert(
      fc.property(withCrashes(effectMoves), (turns) => {
        const machine = new Machine();
        machine.start(startOf(effectPlan));
        judge(machine, turns);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("however approvals and calls meet", () => {
  it("no sink is called for a proposed action without a consumed approval of exactly it", () => {
    const judge = (machine: Machine, turns: readonly Turn[]): void => {
      play(machine, turns, {
        after: ({ state }) => expect(findUnfinished(state)).toEqual([]),
      });
      expect(findUnapprovedCalls(machine.events)).toEqual([]);
      expect(findUnfoundedCalls(machine.events)).toEqual([]);
      if (machine.run !== undefined) {
        expect(findViolations(machine.run)).toEqual([]);
        expect(replay(throughDisk(machine.events))).toEqual(machine.run);
      }
    };
    always((make, turns) => judge(make(), turns));
    fc.assert(
      fc.property(withCrashes(approvalMoves), (turns) => {
        const machine = new Machine();
        machine.start(startOf(effectPlan));
        judge(machine, turns);
      }),
      { numRuns: 1500 },
    );
  });
});

/** Only then what is final is open again. */
function goesBack(turn: Turn): boolean {
  return "verb" in turn && (turn.verb === "rewind" || turn.verb === "retry");
}
