import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { WaitFor } from "@pawl/server/core/command.js";
import { explainRun } from "@pawl/server/core/view/why.js";
import { describe, expect, it } from "vitest";
import { intend, observeResult, resolveReview, suspend } from "../support/commands.js";
import {
  cancelRequested,
  declared,
  leased,
  leaseEnded,
  observedResult,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  signalDeclared,
  suspended,
  waitEnded,
  waitsOpened,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

// The call in doubt can have no more effect from 6,000 ms on.
const settledAtMs = 6000;

const forReview: WaitFor = {
  name: "review",
  key: "1-0",
  subject: { case: "review", review: 0, incarnation: 1 },
};
const reviewDeclared: WaitDeclarationShape = {
  name: "review",
  key: "1-0",
  dueAtMs: 0,
  subject: { case: "review", value: { review: 0 } },
};
const ended = waitEnded(0, 0, { case: "review", value: { review: 0 } });

/** The operation of a task whose worker goes on with the rest of it goes to a person. */
function inDoubt(): Scenario {
  return Scenario.ofOne()
    .given(leased(0, 1), declared({ sinkKind: SinkKind.OPAQUE }), observedUnknown())
    .at(settledAtMs);
}

/** The same, asked of a person, with its task waiting for that beside a signal. */
function waiting(): Scenario {
  return inDoubt().given(
    reviewOpened(),
    suspended(0, 1, { opened: [reviewDeclared, signalDeclared()], waits: [0, 1] }),
  );
}

describe("an operation that a person must decide about, of a task that does other things as well", () => {
  it("leaves the lease with the worker that asked for that", () => {
    const { state } = inDoubt()
      .when(intend(1, "i2", { keepsLease: true }))
      .records({ ...reviewOpened({ known: expect.stringContaining("mail") }) })
      .answering({
        case: "review",
        operationKey: declared().value.declaration?.key ?? "",
        review: 0,
        keepsLease: true,
      })
      .go();
    expect(state.tasks[0]).toMatchObject({ status: TaskStatus.LEASED, leaseVersion: 1 });
    expect(state.operations[0]?.status).toBe(OperationStatus.NEEDS_REVIEW);
  });

  it("is answered the same again while nobody has decided", () => {
    inDoubt()
      .given(reviewOpened())
      .when(intend(1, "i2", { keepsLease: true }))
      .isExisting()
      .answering({
        case: "review",
        operationKey: declared().value.declaration?.key ?? "",
        review: 0,
        keepsLease: true,
      });
  });

  it("ends the lease of a run that was asked to stop: it waits for nobody", () => {
    const { state } = inDoubt()
      .given(cancelRequested())
      .when(intend(1, "i2", { keepsLease: true }))
      .records(
        { ...reviewOpened({ known: expect.stringContaining("mail") }) },
        leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.CANCELLED }),
      )
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.CANCELLED);
  });

  it("is waited for like anything else", () => {
    const { state } = inDoubt()
      .given(reviewOpened())
      .when(suspend(1, { waits: [forReview] }))
      .records(suspended(0, 1, { opened: [reviewDeclared], waits: [0] }))
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.SUSPENDED);
    expect(explainRun(state, { nowMs: START_MS + settledAtMs })).toContain(
      'waits for a person: nobody knows whether operation "mail" took effect',
    );
  });

  it("cannot be waited for under a review of something else", () => {
    inDoubt()
      .given(reviewOpened({ subject: ReviewSubject.TASK }))
      .when(suspend(1, { waits: [forReview] }))
      .rejects("PAWL_INVALID_FIELD");
    inDoubt()
      .when(suspend(1, { waits: [forReview] }))
      .rejects("PAWL_INVALID_FIELD");
    const earlier = {
      ...forReview,
      subject: { case: "review", review: 0, incarnation: 2 },
    } as const;
    inDoubt()
      .given(reviewOpened())
      .when(suspend(1, { waits: [earlier] }))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("does not stop the task from going on with something else", () => {
    const scenario = waiting().given(...[waitEnded(0, 1, { case: "timedOut", value: {} })]);
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.READY);
    expect(scenario.state.operations[0]?.status).toBe(OperationStatus.NEEDS_REVIEW);
  });
});

describe("its resolution", () => {
  it("wakes the task", () => {
    const { state } = waiting()
      .when(resolveReview(ReviewChoice.RETRY))
      .records(ended, reviewResolved(ReviewChoice.RETRY))
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
    expect(state.operations[0]?.status).toBe(OperationStatus.INTENDED);
  });

  it("reaches a task that runs meanwhile through its wait", () => {
    const scenario = inDoubt().given(reviewOpened(), waitsOpened(0, 1, [reviewDeclared]));
    expect(explainRun(scenario.state, { nowMs: START_MS + settledAtMs })).toContain(
      "waits for a person",
    );
    scenario
      .when(resolveReview(ReviewChoice.RETRY))
      .records(ended, reviewResolved(ReviewChoice.RETRY));
  });

  it("is there at once for a wait that begins after it", () => {
    const { state } = inDoubt()
      .given(reviewOpened(), reviewResolved(ReviewChoice.RETRY))
      .when(suspend(1, { waits: [forReview] }))
      .records(suspended(0, 1, { opened: [reviewDeclared], waits: [0] }), ended)
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
  });

  it("comes also of a late word of the call itself", () => {
    waiting()
      .when(observeResult("i1", payload("late")))
      .records(
        ended,
        {
          ...observedResult(payload("late")),
          value: expect.objectContaining({ late: true }),
        },
        reviewResolved(ReviewChoice.DONE, {
          result: undefined,
          principal: "",
          reason: "A late observation of the call settled it.",
        }),
      );
  });

  it("fails the task, wherever it is, when a person says so", () => {
    const places = [
      inDoubt().given(reviewOpened()),
      inDoubt().given(reviewOpened(), waitsOpened(0, 1, [reviewDeclared])),
      waiting(),
    ];
    for (const scenario of places) {
      const { decision } = scenario.when(resolveReview(ReviewChoice.FAIL));
      scenario.commit(decision.accepted ? decision.events : []);
      const { state } = scenario;
      expect(state.tasks[0]).toMatchObject({
        status: TaskStatus.FAILED,
        endedByPerson: true,
        failure: { code: "PAWL_FAILED_BY_PERSON", message: "looked" },
      });
      expect(state.operations[0]?.status).toBe(OperationStatus.ABANDONED);
    }
  });
});
