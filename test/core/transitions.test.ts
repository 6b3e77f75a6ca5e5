import { CorruptHistory } from "@pawl/server/core/apply/corrupt.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { moveTask } from "@pawl/server/core/apply/move-task.js";
import { moveOperation } from "@pawl/server/core/apply/operations.js";
import { applyRunClosed } from "@pawl/server/core/apply/run-ends.js";
import {
  inputStatusName,
  inputTransitions,
  isFinal,
  isLegal,
  isProposalOpen,
  isRunOpen,
  isSettled,
  isTaskClosed,
  operationStatusName,
  operationTransitions,
  proposalStatusName,
  proposalTransitions,
  runStatusName,
  runTransitions,
  type TransitionTable,
  taskStatusName,
  taskTransitions,
} from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import { declared, leased } from "./support/events.js";
import { Scenario } from "./support/scenario.js";
import { START_MS } from "./support/values.js";

/** What the tables must say, in words: from, then everything that may follow. */
const allowed = {
  task: [
    "BLOCKED → READY FAILED SKIPPED CANCELLED SUPERSEDED",
    "READY → LEASED COMPLETED FAILED CANCELLED SUPERSEDED",
    "LEASED → READY BACKOFF SUSPENDED NEEDS_REVIEW COMPLETED FAILED CANCELLED SUPERSEDED",
    "BACKOFF → READY COMPLETED FAILED CANCELLED SUPERSEDED",
    "SUSPENDED → READY COMPLETED FAILED CANCELLED SUPERSEDED",
    "NEEDS_REVIEW → READY COMPLETED FAILED CANCELLED SUPERSEDED",
    "COMPLETED →",
    "FAILED →",
    "SKIPPED →",
    "CANCELLED →",
    "SUPERSEDED →",
  ],
  run: [
    "RUNNING → PAUSED COMPLETED FAILED CANCELLED TERMINATED",
    "PAUSED → RUNNING COMPLETED FAILED CANCELLED TERMINATED",
    "COMPLETED →",
    "FAILED →",
    "CANCELLED →",
    "TERMINATED →",
  ],
  operation: [
    "INTENDED → INTENDED OBSERVED REFUSED IN_DOUBT",
    "IN_DOUBT → IN_DOUBT OBSERVED REFUSED INTENDED NEEDS_REVIEW",
    "NEEDS_REVIEW → OBSERVED REFUSED INTENDED ABANDONED",
    "OBSERVED →",
    "REFUSED →",
    "ABANDONED →",
  ],
  proposal: [
    "PENDING → APPROVED REJECTED EXPIRED WITHDRAWN SUPERSEDED",
    "APPROVED → CONSUMED EXPIRED REVOKED STALE",
    "REJECTED →",
    "EXPIRED →",
    "WITHDRAWN →",
    "SUPERSEDED →",
    "CONSUMED →",
    "REVOKED →",
    "STALE →",
  ],
  input: ["OPEN → ANSWERED EXPIRED WITHDRAWN", "ANSWERED →", "EXPIRED →", "WITHDRAWN →"],
};

function inWords<S extends number>(
  table: TransitionTable<S>,
  nameOf: (status: S) => string,
): string[] {
  return [...table].map(([from, to]) => [nameOf(from), "→", ...to.map(nameOf)].join(" "));
}

describe("the tables", () => {
  it("say what may follow what", () => {
    expect(inWords(taskTransitions, taskStatusName)).toEqual(allowed.task);
    expect(inWords(runTransitions, runStatusName)).toEqual(allowed.run);
    expect(inWords(operationTransitions, operationStatusName)).toEqual(allowed.operation);
    expect(inWords(proposalTransitions, proposalStatusName)).toEqual(allowed.proposal);
    expect(inWords(inputTransitions, inputStatusName)).toEqual(allowed.input);
  });

  it("agree with the words for ended and settled", () => {
    for (const status of taskTransitions.keys()) {
      expect(isTaskClosed(status)).toBe(isFinal(taskTransitions, status));
    }
    for (const status of operationTransitions.keys()) {
      expect(isSettled(status)).toBe(isFinal(operationTransitions, status));
    }
    for (const status of proposalTransitions.keys()) {
      expect(isProposalOpen(status)).toBe(!isFinal(proposalTransitions, status));
    }
    for (const status of runTransitions.keys()) {
      expect(isRunOpen(status)).toBe(!isFinal(runTransitions, status));
    }
  });
});

describe("apply refuses what the tables do not allow, and nothing else", () => {
  const meta = { atMs: START_MS, number: 9 };
  const outcome = (work: () => void): string => {
    try {
      work();
      return "moved";
    } catch (error) {
      return error instanceof CorruptHistory ? "refused" : "failed";
    }
  };

  it("for each pair of states of a task", () => {
    for (const from of taskTransitions.keys()) {
      for (const to of taskTransitions.keys()) {
        const { state } = Scenario.ofOne();
        const [task] = state.tasks;
        if (task === undefined) throw new Error("no task");
        task.status = from;
        const expected = isLegal(taskTransitions, from, to) ? "moved" : "refused";
        expect([from, to, outcome(() => moveTask(state, task, to, meta))]).toEqual([
          from,
          to,
          expected,
        ]);
      }
    }
  });

  it("for each pair of states of an operation", () => {
    for (const from of operationTransitions.keys()) {
      for (const to of operationTransitions.keys()) {
        const { state } = Scenario.ofOne().given(leased(0, 1), declared());
        const [operation] = state.operations;
        if (operation === undefined) throw new Error("no operation");
        operation.status = from;
        const expected = isLegal(operationTransitions, from, to) ? "moved" : "refused";
        expect([
          from,
          to,
          outcome(() => moveOperation(state, operation, to, { atMs: START_MS, number: 3 })),
        ]).toEqual([from, to, expected]);
      }
    }
  });

  it("for each pair of states of a run", () => {
    for (const from of runTransitions.keys()) {
      for (const to of runTransitions.keys()) {
        const { state } = Scenario.ofOne();
        state.status = from;
        const close = (): void =>
          applyRunClosed(state, { status: to, principal: "" }, meta, silentHooks);
        const expected = isLegal(runTransitions, from, to) ? "moved" : "refused";
        expect([from, to, outcome(close)]).toEqual([from, to, expected]);
      }
    }
  });
});
