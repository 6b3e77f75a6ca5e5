import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ObservedOutcome } from "@pawl/server/core/command.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import { observe, observeResult } from "../support/commands.js";
import {
  declared,
  doubted,
  intended,
  leased,
  leaseEnded,
  observed,
  observedNotSent,
  observedRefused,
  observedResult,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  runClosed,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS, sha256 } from "../support/values.js";

const { IN_DOUBT, INTENDED, OBSERVED, REFUSED } = OperationStatus;
const result: ObservedOutcome = { case: "result", value: payload("ok") };
const refused: ObservedOutcome = { case: "refused", value: failure({ kind: "NoSuchAccount" }) };
const notSent: ObservedOutcome = { case: "notSent", value: failure({ kind: "NotSent" }) };
const unknown: ObservedOutcome = { case: "unknown", value: failure({ kind: "Timeout" }) };
const nothing = sha256(new Uint8Array(0));

const open = (): Scenario => Scenario.ofOne().given(leased(0, 1), declared());
const underReview: EventBody[] = [
  observedUnknown(),
  reviewOpened(),
  leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }),
];
const settledLate = (choice: ReviewChoice): EventBody => ({
  ...reviewResolved(choice, {
    result: undefined,
    reason: "A late observation of the call settled it.",
    principal: "",
  }),
});

describe("ObserveOperation of an open call", () => {
  it.each([
    ["result", result, OBSERVED],
    ["refusal", refused, REFUSED],
    ["call that never left", notSent, INTENDED],
    ["unknown end", unknown, IN_DOUBT],
  ])("records a %s", (_name, outcome, next) => {
    const { state } = open()
      .at(50)
      .when(observe("i1", outcome))
      .records(observed(outcome, next))
      .go();
    expect(state.operations[0]).toMatchObject({ status: next, callOpen: false });
    expect(state.unsettled.has(0)).toBe(next === INTENDED || next === IN_DOUBT);
  });

  it("keeps result, time and call of what settled it", () => {
    const { state } = open()
      .at(50)
      .when(observeResult("i1"))
      .records(observed(result, OBSERVED))
      .go();
    expect(state.operations[0]).toMatchObject({
      result: payload("ok"),
      settledAtMs: START_MS + 50,
      settledIntentId: "i1",
      reconciled: false,
      failure: undefined,
    });
  });

  it("keeps up to where its code had been given outcomes, and the event that settled it", () => {
    const { state } = open()
      .when({ ...observeResult("i1"), seenThrough: 2 })
      .records(observed(result, OBSERVED, { seenThrough: 2 }))
      .go();
    expect(state.operations[0]).toMatchObject({ settledSeenThrough: 2, settledEvent: 4 });
  });

  it("keeps no place of a call whose end is unknown", () => {
    const { state } = open()
      .when({ ...observe("i1", unknown), seenThrough: 2 })
      .records(observed(unknown, IN_DOUBT, { seenThrough: 2 }))
      .go();
    expect(state.operations[0]).toMatchObject({ settledSeenThrough: undefined, settledEvent: 0 });
  });

  it("keeps the refusal as its failure", () => {
    const { state } = open().when(observe("i1", refused)).records(observed(refused, REFUSED)).go();
    expect(state.operations[0]?.failure).toEqual(failure({ kind: "NoSuchAccount" }));
  });

  it("forgets the failures of earlier calls with a result", () => {
    const { state } = open().given(observedNotSent(), intended({ intentId: "i2" }));
    expect(state.operations[0]?.failure).toBeDefined();
    const scenario = open().given(observedNotSent(), intended({ intentId: "i2" }));
    scenario.when(observeResult("i2")).records(observed(result, OBSERVED, { intentId: "i2" }));
    expect(scenario.state.operations[0]?.failure).toBeUndefined();
  });
});

describe("a late ObserveOperation", () => {
  it("settles the operation when the lease is gone, and moves no task", () => {
    const scenario = open().given(doubted(), leaseEnded(0, 1), leased(0, 2, { attempt: 1 }));
    const [before] = structuredClone(scenario.state.tasks);
    scenario.when(observeResult("i1")).records(observed(result, OBSERVED, { late: true }));
    expect(scenario.state.tasks).toEqual([{ ...before, unsettled: new Set() }]);
    expect(scenario.state.operations[0]).toMatchObject({ status: OBSERVED, reconciled: true });
  });

  it("has no place among what its code was given: it counts as given with its own event", () => {
    const { state } = open()
      .given(doubted(), leaseEnded(0, 1), leased(0, 2, { attempt: 1 }))
      .when({ ...observeResult("i1"), seenThrough: 2 })
      .records(observed(result, OBSERVED, { late: true, seenThrough: 0 }))
      .go();
    expect(state.operations[0]).toMatchObject({ settledSeenThrough: undefined, settledEvent: 7 });
  });

  it.each([
    ["result", result, OBSERVED, ReviewChoice.DONE],
    ["refusal", refused, REFUSED, ReviewChoice.DONE],
    ["call that never left", notSent, INTENDED, ReviewChoice.RETRY],
  ])("%s resolves the review, and the task goes on", (_name, outcome, next, choice) => {
    const { state } = open()
      .given(...underReview)
      .when(observe("i1", outcome))
      .records(observed(outcome, next, { late: true }), settledLate(choice))
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
    expect(state.reviews[0]).toMatchObject({ choice, waitingTasks: [] });
  });

  it("is recorded after the run is over, and resolves the review of then", () => {
    const scenario = open().given(doubted(), leaseEnded(0, 1));
    scenario.commit([runClosed(RunStatus.TERMINATED)]);
    expect(scenario.state.operations[0]?.status).toBe(OperationStatus.NEEDS_REVIEW);
    scenario
      .when(observeResult("i1"))
      .records(observed(result, OBSERVED, { late: true }), settledLate(ReviewChoice.DONE));
    expect(scenario.state.status).toBe(RunStatus.TERMINATED);
  });

  it.each([
    ["result", result, OBSERVED],
    ["refusal", refused, REFUSED],
  ])(
    "%s counts also after a person chose retry, while no other call was made",
    (_name, outcome, next) => {
      open()
        .given(...underReview, reviewResolved(ReviewChoice.RETRY))
        .when(observe("i1", outcome))
        .records(observed(outcome, next, { late: true }));
    },
  );

  it("says nothing new when nobody knows", () => {
    open().given(doubted(), leaseEnded(0, 1)).when(observe("i1", unknown)).isExisting();
    open()
      .given(...underReview)
      .when(observe("i1", unknown))
      .isExisting();
  });
});

describe("ObserveOperation again", () => {
  it.each([
    ["result", result, observedResult()],
    ["refusal", refused, observedRefused()],
    ["call that never left", notSent, observedNotSent()],
    ["unknown end", unknown, observedUnknown()],
  ])("is existing for the same %s", (_name, outcome, event) => {
    const { reply } = open().given(event).when(observe("i1", outcome)).isExisting();
    expect(reply.operation).toMatchObject({ number: 0 });
  });

  it.each([
    [
      "another result",
      { case: "result", value: payload("else") } as const,
      sha256(payload("else")),
    ],
    ["a refusal", refused, nothing],
    ["an unknown end", unknown, nothing],
    ["a call that never left", notSent, nothing],
  ])("refuses %s after a result: it is written once", (_name, outcome, received) => {
    const scenario = open().given(observedResult());
    scenario.when(observe("i1", outcome)).rejects("PAWL_FINGERPRINT_CONFLICT", {
      entity: "operation",
      id: "task/default/r1/1/only/mail/1",
      recorded: sha256(payload("ok")),
      received,
      differs: "observation",
    });
  });

  it("refuses a result after a refusal", () => {
    open().given(observedRefused()).when(observeResult("i1")).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("of an earlier call that nobody knows the end of is existing, once the operation is settled", () => {
    const settled = open().given(
      observedNotSent(),
      intended({ intentId: "i2" }),
      observed(result, OBSERVED, { intentId: "i2" }),
    );
    settled.when(observe("i1", unknown)).isExisting();
    settled.when(observe("i1", notSent)).isExisting();
  });
});

describe("ObserveOperation is refused", () => {
  it("for an operation that the run has not", () => {
    open()
      .when(observe("i1", result, "none"))
      .rejects("PAWL_OPERATION_NOT_FOUND", { entity: "operation", id: "none" });
  });

  it.each([result, refused, notSent, unknown])("about an earlier call: $case", (outcome) => {
    open()
      .given(observedNotSent(), intended({ intentId: "i2" }))
      .when(observe("i1", outcome))
      .rejects("PAWL_STALE_INTENT");
  });

  it("when it says unknown of a call that is recorded to have had no effect", () => {
    open().given(observedNotSent()).when(observe("i1", unknown)).rejects("PAWL_STALE_INTENT");
    open()
      .given(...underReview, reviewResolved(ReviewChoice.RETRY))
      .when(observe("i1", unknown))
      .rejects("PAWL_STALE_INTENT");
  });

  it("after a person abandoned it", () => {
    open()
      .given(...underReview, reviewResolved(ReviewChoice.ABANDON))
      .when(observeResult("i1"))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});
