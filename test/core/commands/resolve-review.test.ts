import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { legalChoices } from "@pawl/server/core/review-choices.js";
import { describe, expect, it } from "vitest";
import { intend, resolveReview } from "../support/commands.js";
import {
  cancelRequested,
  declared,
  doubted,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  runClosed,
  runFaulted,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS, sha256 } from "../support/values.js";

const { ABANDON, DONE, FAIL, NOT_DONE, RETRY } = ReviewChoice;
const byPerson = { result: payload("seen") };

/** The call can have no more effect from 6,000 ms on. */
function underReview(): Scenario {
  return Scenario.started(planOf({ only: {}, next: { needs: ["only"] } }))
    .given(leased(0, 1), declared(), observedUnknown(), reviewOpened())
    .given(leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }))
    .at(6000);
}

describe("ResolveReview of an operation", () => {
  it("DONE: records the result, and the task goes on with it", () => {
    const scenario = underReview();
    const { state } = scenario
      .when(resolveReview(DONE, byPerson), { principal: "ann" })
      .records(reviewResolved(DONE, { principal: "ann" }))
      .go();
    expect(state.operations[0]).toMatchObject({
      status: OperationStatus.OBSERVED,
      result: payload("seen"),
      reconciled: true,
      openReview: undefined,
      failure: undefined,
      settledAtMs: START_MS + 6000,
    });
    expect(state.reviews[0]).toMatchObject({
      choice: DONE,
      principal: "ann",
      resolvedAtMs: START_MS + 6000,
      version: 2,
    });
    expect(state.tasks[0]).toMatchObject({ status: TaskStatus.READY, usedAttempts: 0 });
    scenario
      .given(leased(0, 2, { attempt: 1 }))
      .when(intend(2, "i2"))
      .isExisting()
      .answering({ case: "reuse", operationKey: MAIL_KEY });
  });

  it("RETRY: the task goes on, and its next intent calls again", () => {
    const scenario = underReview().when(resolveReview(RETRY)).records(reviewResolved(RETRY)).go();
    expect(scenario.state.operations[0]).toMatchObject({
      status: OperationStatus.INTENDED,
      callOpen: false,
    });
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.READY);
    expect(
      scenario
        .given(leased(0, 2, { attempt: 1 }))
        .when(intend(2, "i2"))
        .summary(),
    ).toBe("operationIntended: proceed");
  });

  it("ABANDON: the task goes on without it", () => {
    const { state } = underReview()
      .when(resolveReview(ABANDON))
      .records(reviewResolved(ABANDON))
      .go();
    expect(state.operations[0]).toMatchObject({
      status: OperationStatus.ABANDONED,
      failure: { kind: "OperationAbandoned", code: "PAWL_OPERATION_ABANDONED", message: "looked" },
    });
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
  });

  it("FAIL: the operation is abandoned, the task fails, and what needs it is skipped", () => {
    const scenario = underReview();
    const { followed } = scenario.when(resolveReview(FAIL)).records(reviewResolved(FAIL));
    expect(scenario.state.operations[0]?.status).toBe(OperationStatus.ABANDONED);
    expect(scenario.state.tasks).toMatchObject([
      { status: TaskStatus.FAILED, failure: { code: "PAWL_OPERATION_ABANDONED" } },
      { status: TaskStatus.SKIPPED },
    ]);
    expect(followed).toMatchObject([{ case: "runClosed", value: { status: RunStatus.FAILED } }]);
  });
});

describe("ResolveReview after its task or run has ended", () => {
  it.each([DONE, ABANDON])(
    "settles it also when the run is over (choice %i), and moves no task",
    (choice) => {
      const scenario = Scenario.ofOne()
        .given(leased(0, 1), declared(), doubted(), leaseEnded(0, 1))
        .at(6000);
      scenario.commit([runClosed(RunStatus.TERMINATED)]);
      const result = choice === DONE ? payload("seen") : undefined;
      scenario.when(resolveReview(choice, { result })).records(reviewResolved(choice, { result }));
      expect(scenario.state.unsettled.size).toBe(0);
      expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.CANCELLED);
    },
  );

  it("does not wake a task that was cancelled while it waited", () => {
    const scenario = underReview();
    scenario.commit([cancelRequested()]);
    scenario.when(resolveReview(DONE, byPerson)).records(reviewResolved(DONE));
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.CANCELLED);
  });
});

describe("ResolveReview while the run is in its grace", () => {
  it("does not wake the task that was cancelled while it waited", () => {
    const scenario = Scenario.started(planOf({ only: {}, held: {} }))
      .given(leased(0, 1), leased(1, 1), declared(), observedUnknown(), reviewOpened())
      .given(leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }))
      .given(cancelRequested())
      .at(6000);
    for (const choice of [RETRY, FAIL]) {
      scenario.when(resolveReview(choice)).rejects("PAWL_ILLEGAL_TRANSITION");
    }
    scenario.when(resolveReview(ABANDON)).records(reviewResolved(ABANDON));
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.CANCELLED);
  });
});

describe("ResolveReview of a run that was set aside", () => {
  it("RETRY lets it go on", () => {
    const scenario = Scenario.ofOne().given(
      runFaulted(),
      reviewOpened({ subject: ReviewSubject.RUN }),
    );
    expect(scenario.state.fault).toBe("CompleteTask: boom");
    scenario.when(resolveReview(RETRY)).records(reviewResolved(RETRY));
    expect(scenario.state).toMatchObject({ fault: "", version: 3 });
  });
});

describe("ResolveReview again", () => {
  it("is existing for the same choice and result, whatever version it expects", () => {
    const scenario = underReview().given(reviewResolved(DONE));
    const { reply } = scenario
      .when(resolveReview(DONE, { ...byPerson, expectedVersion: 7 }))
      .isExisting();
    expect(reply.review).toMatchObject({ number: 0, choice: DONE });
  });

  it.each([
    ["choice", resolveReview(RETRY), sha256(new Uint8Array(0))],
    ["result", resolveReview(DONE, { result: payload("else") }), sha256(payload("else"))],
  ])("is refused for another %s", (differs, command, received) => {
    underReview()
      .given(reviewResolved(DONE))
      .when(command)
      .rejects("PAWL_FINGERPRINT_CONFLICT", {
        entity: "review",
        id: "0",
        recorded: sha256(payload("seen")),
        received,
        differs,
      });
  });
});

describe("ResolveReview is refused", () => {
  it("for a review that there is not", () => {
    underReview()
      .when(resolveReview(DONE, { review: 1 }))
      .rejects("PAWL_REVIEW_NOT_FOUND", { entity: "review", id: "1" });
  });

  it("for another version, before a choice that is not offered", () => {
    underReview()
      .when(resolveReview(ReviewChoice.UNSPECIFIED, { expectedVersion: 2 }))
      .rejects("PAWL_STALE_VERSION", { entity: "review", expected: 2, actual: 1 });
  });

  it("for a choice that is not offered, before it is too early", () => {
    underReview()
      .at(0)
      .when(resolveReview(ReviewChoice.UNSPECIFIED))
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "review",
        status: "open",
        command: "choose unspecified",
        legal: ["done", "retry", "not-done", "abandon", "fail"],
      });
  });

  it("and names the choices that are", () => {
    const { decision } = underReview().at(0).when(resolveReview(ReviewChoice.SKIP));
    expect(decision).toMatchObject({
      rejection: {
        message:
          "Expected one of the choices that this review offers (done, retry, not-done, abandon, fail), but skip is none of them. Next: choose one of these.",
      },
    });
  });

  it("while the call may still take effect", () => {
    const when = underReview().at(5999).when(resolveReview(DONE, byPerson));
    when.rejects("PAWL_TOO_EARLY");
    expect(when.decision).toMatchObject({ rejection: { retryAfterMs: 1 } });
  });
});

describe("the choices that are offered", () => {
  const choicesOf = ({ state }: Scenario): ReviewChoice[] => {
    const [review] = state.reviews;
    return review === undefined ? [] : legalChoices(state, review);
  };

  it("about an operation are all, without a second call once the run is over, none once it is resolved", () => {
    expect(choicesOf(underReview())).toEqual([DONE, RETRY, NOT_DONE, ABANDON, FAIL]);
    expect(choicesOf(underReview().given(runClosed(RunStatus.TERMINATED)))).toEqual([
      DONE,
      NOT_DONE,
      ABANDON,
    ]);
    expect(choicesOf(underReview().given(reviewResolved(RETRY)))).toEqual([]);
  });

  it("about a run is to go on", () => {
    expect(
      choicesOf(Scenario.ofOne().given(runFaulted(), reviewOpened({ subject: ReviewSubject.RUN }))),
    ).toEqual([RETRY]);
  });
});
