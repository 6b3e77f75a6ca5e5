import { DoubtCause, LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import { intend, observe } from "../support/commands.js";
import {
  cancelRequested,
  declared,
  doubted,
  intended,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedNotSent,
  observedUnknown,
  reviewOpened,
  reviewResolved,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, START_MS } from "../support/values.js";

// Calls take 1 s and settle 5 s later: what was intended at 0 can have no more effect from 6,000 ms on.
const operationKey = MAIL_KEY;
const overdue = doubted(0, DoubtCause.CALL_OVERDUE);

function at(sinkKind: SinkKind, keyWindowEndsMs = 0): Scenario {
  return Scenario.ofOne().given(leased(0, 1), declared({ sinkKind, keyWindowEndsMs }));
}

/** The caller is gone, and another attempt holds the task. */
function abandoned(scenario: Scenario): Scenario {
  return scenario.given(doubted(), leaseEnded(0, 1), leased(0, 2, { attempt: 1 }));
}

const askingPerson = (leaseVersion: number): EventBody[] => [
  { ...reviewOpened({ known: expect.stringContaining(MAIL_KEY) }) },
  leaseEnded(0, leaseVersion, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }),
];

describe("a call in doubt at an idempotent sink", () => {
  const windowEndsMs = START_MS + 15_000;
  const inDoubt = (): Scenario => abandoned(at(SinkKind.IDEMPOTENT, windowEndsMs));

  it("is made again at once, with the same key", () => {
    inDoubt()
      .at(100)
      .when(intend(2, "i2"))
      .records(intended({ intentId: "i2", leaseVersion: 2, callByMs: START_MS + 1100 }))
      .answering({ case: "proceed", operationKey, callMs: 1000 });
  });

  it("is made again as late as the call still ends inside the key window", () => {
    // It is over only when its settle time is.
    inDoubt()
      .at(9000)
      .when(intend(2, "i2"))
      .records(intended({ intentId: "i2", leaseVersion: 2, callByMs: windowEndsMs - 5000 }));
    inDoubt()
      .at(9001)
      .when(intend(2, "i2"))
      .records(...askingPerson(2));
  });

  it("waits for the time in which it may still take effect before a person is asked", () => {
    const late = abandoned(at(SinkKind.IDEMPOTENT, START_MS + 1500));
    late
      .at(600)
      .when(intend(2, "i2"))
      .isExisting()
      .answering({ case: "wait", operationKey, notBeforeMs: 5400 });
    late
      .at(6000)
      .when(intend(2, "i2"))
      .records(...askingPerson(2));
  });

  it("stays in doubt when the repeated call never left: the first one may have had its effect", () => {
    const scenario = inDoubt().given(intended({ intentId: "i2", leaseVersion: 2 }));
    const notSent = { case: "notSent", value: failure({ kind: "NotSent" }) } as const;
    const { state } = scenario
      .when(observe("i2", notSent))
      .records({
        ...observedNotSent("i2"),
        value: { ...observedNotSent("i2").value, next: OperationStatus.IN_DOUBT },
      })
      .go();
    expect(state.operations[0]).toMatchObject({
      status: OperationStatus.IN_DOUBT,
      callOpen: false,
    });
    scenario.when(observe("i2", notSent)).isExisting();
    scenario
      .at(100)
      .when(intend(2, "i3"))
      .records(intended({ intentId: "i3", leaseVersion: 2, callByMs: START_MS + 1100 }));
    scenario
      .given(observedUnknown("i3"))
      .at(9001)
      .when(intend(2, "i4"))
      .records(...askingPerson(2));
  });

  it("and open although overdue, is doubted and made again", () => {
    at(SinkKind.IDEMPOTENT, windowEndsMs)
      .at(6000)
      .when(intend(1, "i2"))
      .records(overdue, intended({ intentId: "i2", callByMs: START_MS + 7000 }));
  });
});

describe("a call in doubt at a reconcilable sink", () => {
  const inDoubt = (): Scenario => abandoned(at(SinkKind.RECONCILABLE));

  it("is looked up, not before it can have no more effect", () => {
    inDoubt()
      .at(100)
      .when(intend(2, "i2"))
      .isExisting()
      .answering({ case: "lookUp", operationKey, notBeforeMs: 5900 });
    inDoubt()
      .at(7000)
      .when(intend(2, "i2"))
      .isExisting()
      .answering({ case: "lookUp", operationKey, notBeforeMs: 0 });
  });

  it("is looked up also when the same attempt's call ended unknown", () => {
    at(SinkKind.RECONCILABLE)
      .given(observedUnknown())
      .at(100)
      .when(intend(1, "i2"))
      .isExisting()
      .answering({ case: "lookUp", operationKey, notBeforeMs: 5900 });
  });

  it("and open although overdue, is doubted and looked up", () => {
    at(SinkKind.RECONCILABLE)
      .at(6000)
      .when(intend(1, "i2"))
      .records(overdue)
      .answering({ case: "lookUp", operationKey, notBeforeMs: 0 });
  });
});

describe.each([
  ["an opaque sink", SinkKind.OPAQUE],
  ["a sink of no known kind", SinkKind.UNSPECIFIED],
])("a call in doubt at %s", (_name, sinkKind) => {
  it("waits, then goes to a person, and its task gives the lease back", () => {
    const scenario = abandoned(at(sinkKind));
    scenario
      .at(5999)
      .when(intend(2, "i2"))
      .isExisting()
      .answering({ case: "wait", operationKey, notBeforeMs: 1 });
    const { state } = scenario
      .at(6000)
      .when(intend(2, "i2"))
      .records(...askingPerson(2))
      .answering({ case: "review", operationKey, review: 0, keepsLease: false })
      .go();
    expect(state.tasks[0]).toMatchObject({ status: TaskStatus.NEEDS_REVIEW, usedAttempts: 0 });
    expect(state.reviews[0]).toMatchObject({ waitingTasks: [0], operation: 0 });
    expect(state.operations[0]?.status).toBe(OperationStatus.NEEDS_REVIEW);
  });

  it("and open although overdue, is doubted and goes to a person", () => {
    at(sinkKind)
      .at(6000)
      .when(intend(1, "i2"))
      .records(overdue, ...askingPerson(1));
  });
});

describe("an operation under review", () => {
  const ofRun = { key: "run/default/r1/1/mail/1", scope: OperationScope.RUN };
  const shared = (): Scenario =>
    Scenario.started(planOf({ only: {}, other: {} })).given(
      leased(0, 1),
      leased(1, 1),
      declared(ofRun),
      observedUnknown(),
      reviewOpened(),
      leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }),
    );

  it("keeps every task waiting that needs it, with one review", () => {
    const scenario = shared();
    scenario
      .when(intend(1, "i2", { scope: OperationScope.RUN, lease: { task: 1, leaseVersion: 1 } }))
      .records(leaseEnded(1, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }))
      .answering({ case: "review", operationKey: ofRun.key, review: 0, keepsLease: false });
    expect(scenario.state.reviews).toMatchObject([{ waitingTasks: [0, 1] }]);
    scenario.given(reviewResolved(ReviewChoice.RETRY));
    expect(scenario.state.tasks).toMatchObject([
      { status: TaskStatus.READY },
      { status: TaskStatus.READY },
    ]);
  });

  it("puts the other calls of the task in doubt, since its lease ends", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), declared(), observedUnknown());
    scenario.given(declared({ key: "other", name: "other" }, { operation: 1, intentId: "i5" }));
    const [opened, ended] = askingPerson(1);
    if (opened === undefined || ended === undefined) {
      throw new Error("no events");
    }
    scenario.at(6000).when(intend(1, "i2")).records(opened, doubted(1), ended);
  });

  it("ends its task CANCELLED when the run was asked to stop: nobody would wait", () => {
    const [opened] = askingPerson(1);
    const ended = leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.CANCELLED });
    at(SinkKind.OPAQUE)
      .given(cancelRequested(), observedUnknown())
      .at(6000)
      .when(intend(1, "i2"))
      .records(opened ?? ended, ended);
  });

  it("says in a sentence what is known", () => {
    const scenario = at(SinkKind.OPAQUE).given(observedUnknown()).at(6000);
    const { decision } = scenario.when(intend(1, "i2"));
    scenario.commit(decision.accepted ? decision.events : []);
    expect(scenario.state.reviews[0]?.known).toBe(
      '"mail" on "ann@example.org" was intended once under key "task/default/r1/1/only/mail/1"; ' +
        "whether its effect happened is unknown, and the sink can neither repeat a call safely nor look one up. " +
        'The last call ended with "it broke". Look at the sink before you decide.',
    );
  });
});
