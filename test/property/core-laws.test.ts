import { isDeepStrictEqual } from "node:util";
import type { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import { decide } from "@pawl/server/core/decide.js";
import type { Decision } from "@pawl/server/core/decision.js";
import { findUnfinished, findViolations } from "@pawl/server/core/invariants.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import {
  isFinal,
  isSettled,
  operationTransitions,
  proposalTransitions,
  runTransitions,
  taskTransitions,
} from "@pawl/server/core/transitions.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine, type Recorded, replay, throughDisk } from "../core/support/machine.js";
import { findUnapprovedCalls } from "./support/approved-calls.js";
import { findUnfoundedCalls } from "./support/effects.js";
import { LeaseVersions } from "./support/lease-versions.js";
import {
  approvalMoves,
  commandOf,
  contextOf,
  effectMoves,
  effectPlan,
  ledgerMoves,
  type Move,
  plan,
  runMoves,
  startOf,
} from "./support/moves.js";
import { type Restart, restart, restartOf } from "./support/restarts.js";

/** A move, a further start, or the loss of the last commits. */
type Turn = Move | { readonly lostCommits: number } | Again;

/** The run is started once more, as a caller that does not know better would. */
interface Again {
  readonly restart: Restart;
}

const crash = fc.record({ lostCommits: fc.nat({ max: 3 }) });

function withCrashes(moves: fc.Arbitrary<readonly Move[]>): fc.Arbitrary<readonly Turn[]> {
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

function withRestarts(turns: fc.Arbitrary<readonly Turn[]>): fc.Arbitrary<readonly Turn[]> {
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
interface Watcher {
  readonly before?: (run: MutableRun, command: Exclude<Command, StartRun>) => void;
  readonly after?: (
    machine: Machine,
    command: Exclude<Command, StartRun>,
    decision: Decision,
    parts: Partial<DecideContext>,
  ) => void;
}

function play(machine: Machine, turns: readonly Turn[], watcher: Watcher = {}): void {
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
function always(law: (make: () => Machine, turns: readonly Turn[]) => void): void {
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
          if (!decision.accepted || decision.reply.existing) {
            expect(machine.events.length).toBe(before);
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
        if (body.case === "runRestarted") {
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

describe("however the claims, reports and calls of many workers meet", () => {
  it("a READY task goes to exactly one of many claimers", () => {
    fc.assert(
      fc.property(plan, runMoves, fc.integer({ min: 2, max: 5 }), (chosen, moves, claimers) => {
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
      play(
        machine,
        turns.filter((turn) => !("lostCommits" in turn || "restart" in turn)),
        {
          after: ({ state }) => {
            const now = finalParts(state);
            for (const [name, part] of final) {
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

describe("the sequences of these tests", () => {
  it("reach every event and every state of runs, tasks and operations", () => {
    const events = new Set<string>();
    const tasks = new Set<TaskStatus>();
    const operations = new Set<OperationStatus>();
    const runs = new Set<RunStatus>();
    const watch = (run: MutableRun, { body }: Recorded): void => {
      events.add(body.case);
      runs.add(run.status);
      for (const { status } of run.tasks) tasks.add(status);
      for (const { status } of run.operations) operations.add(status);
    };
    const proposals = new Set<ProposalStatus>();
    for (const moves of fc.sample(approvalMoves, { numRuns: 1500, seed: 7 })) {
      const machine = new Machine((run, event) => {
        watch(run, event);
        for (const { status } of run.proposals) proposals.add(status);
      });
      machine.start(startOf(effectPlan));
      play(machine, moves);
    }
    expect([...proposals].toSorted()).toEqual([...proposalTransitions.keys()].toSorted());
    for (const moves of fc.sample(fc.tuple(plan, withRestarts(runMoves)), {
      numRuns: 1500,
      seed: 7,
    })) {
      const machine = new Machine(watch);
      machine.start(startOf(moves[0]));
      play(machine, moves[1]);
    }
    const never = ["runFaulted", "storeCreated", "checkpointSealed", "namespaceCreated"];
    expect([...events, ...never].toSorted()).toEqual(allEvents.toSorted());
    expect([...tasks].toSorted()).toEqual([...taskTransitions.keys()].toSorted());
    expect([...runs].toSorted()).toEqual([...runTransitions.keys()].toSorted());
    expect([...operations].toSorted()).toEqual([...operationTransitions.keys()].toSorted());
  });
});

const allEvents = [
  "runStarted",
  "runRestarted",
  "taskLeased",
  "leaseEnded",
  "taskCompleted",
  "attemptFailed",
  "taskReady",
  "taskTimedOut",
  "stepRecorded",
  "operationIntended",
  "operationObserved",
  "operationDoubted",
  "operationReconciled",
  "reviewOpened",
  "reviewResolved",
  "cancelRequested",
  "taskCancelled",
  "taskChanged",
  "runPaused",
  "runResumed",
  "runClosed",
  "runFaulted",
  "storeCreated",
  "checkpointSealed",
  "taskSuspended",
  "waitEnded",
  "proposalMade",
  "proposalDecided",
  "proposalEnded",
  "namespaceCreated",
  "signalReceived",
  "inputAnswered",
];

/** Everything of a state that may never change again, by a name for it. */
function finalParts(run: MutableRun): Map<string, unknown> {
  const parts = new Map<string, unknown>();
  if (isFinal(runTransitions, run.status)) {
    parts.set("run", [run.status, run.closedAtMs, structuredClone(run.failure)]);
  }
  for (const task of run.tasks.filter(({ status }) => isFinal(taskTransitions, status))) {
    // How many of its needs completed is counted on.
    parts.set(`task ${task.number}`, structuredClone({ ...task, openNeeds: 0 }));
  }
  for (const operation of run.operations.filter(({ status }) => isSettled(status))) {
    parts.set(
      `operation ${operation.number}`,
      structuredClone({ ...operation, openReview: undefined }),
    );
  }
  for (const proposal of run.proposals.filter(({ status }) =>
    isFinal(proposalTransitions, status),
  )) {
    // That it was revised may come later.
    parts.set(
      `proposal ${proposal.number}`,
      structuredClone({ ...proposal, revisedBy: undefined }),
    );
  }
  for (const step of run.steps) {
    parts.set(`step ${step.number}`, structuredClone(step));
  }
  for (const wait of run.waits.filter(({ closedAtMs }) => closedAtMs !== 0)) {
    parts.set(`wait ${wait.number}`, structuredClone(wait));
  }
  for (const signal of run.signals.filter(({ takenBy }) => takenBy !== undefined)) {
    parts.set(`signal ${signal.number}`, structuredClone(signal));
  }
  for (const input of run.inputs.filter(({ closedAtMs }) => closedAtMs !== 0)) {
    parts.set(`input ${input.number}`, structuredClone(input));
  }
  return parts;
}
