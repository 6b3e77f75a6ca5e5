import type { StepRecordedShape } from "@pawl/proto/log/v1/event_wire.js";
import type { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import {
  obligationTransitions,
  operationTransitions,
  proposalTransitions,
  runTransitions,
  taskTransitions,
} from "@pawl/server/core/transitions.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Machine, type Recorded } from "../core/support/machine.js";
import { approvalMoves, runMoves } from "./support/moves.js";
import { effectPlan, plan, startOf } from "./support/starts.js";
import { play, withRestarts } from "./support/turns.js";

describe("the sequences of these tests", () => {
  it("reach every event and every state of runs, tasks, operations, proposals and obligations", () => {
    const events = new Set<string>();
    const tasks = new Set<TaskStatus>();
    const operations = new Set<OperationStatus>();
    const runs = new Set<RunStatus>();
    const obligations = new Set<ObligationStatus>();
    const answered = new Set<string>();
    const watch = (run: MutableRun, { body }: Recorded): void => {
      events.add(body.case);
      if (body.case === "stepRecorded") noteMessage(body.value, answered);
      runs.add(run.status);
      for (const { status } of run.tasks) tasks.add(status);
      for (const { status } of run.operations) operations.add(status);
      for (const { status } of run.obligations) obligations.add(status);
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
      numRuns: 5000,
      seed: 7,
    })) {
      const machine = new Machine(watch);
      machine.start(startOf(moves[0]));
      play(machine, moves[1]);
    }
    const never = [
      "runFaulted",
      "storeCreated",
      "checkpointSealed",
      "namespaceCreated",
      "currentVersionChanged",
      "operationReused", // An effect that is asked for again by the same name: too seldom, see rewind-run.test.ts.
      "retentionChanged",
      "runPurged",
    ];
    expect([...answered].toSorted()).toEqual(["accepted", "published", "refused"]);
    expect([...events, ...never].toSorted()).toEqual(allEvents.toSorted());
    expect([...tasks].toSorted()).toEqual([...taskTransitions.keys()].toSorted());
    expect([...runs].toSorted()).toEqual([...runTransitions.keys()].toSorted());
    expect([...operations].toSorted()).toEqual([...operationTransitions.keys()].toSorted());
    expect([...obligations].toSorted()).toEqual([...obligationTransitions.keys()].toSorted());
  });
});

/** What a step says to others. */
function noteMessage({ publishes, answers, failure }: StepRecordedShape, said: Set<string>): void {
  if (publishes !== undefined) said.add("published");
  if (answers !== undefined) said.add(failure === undefined ? "accepted" : "refused");
}

const allEvents = [
  "runStarted",
  "runRestarted",
  "runContinued",
  "runTimedOut",
  "runRewound",
  "operationReused",
  "rollbackBegan",
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
  "tasksCalled",
  "callsStopping",
  "callsAbandoned",
  "callsCancelled",
  "waitsOpened",
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
  "currentVersionChanged",
  "retentionChanged",
  "runPurged",
  "runDeleted",
  "legalHoldChanged",
  "signalReceived",
  "obligationMade",
  "obligationSettled",
  "childEnded",
  "inputAnswered",
  "planRevised",
  "reportCameLate",
];
