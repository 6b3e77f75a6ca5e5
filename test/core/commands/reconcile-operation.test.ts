import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Finding } from "@pawl/server/core/command.js";
import { describe, expect, it } from "vitest";
import { intend, reconcile } from "../support/commands.js";
import {
  declared,
  doubted,
  intended,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedNotSent,
  observedRefused,
  observedResult,
  reconciled,
  reviewOpened,
  runClosed,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS } from "../support/values.js";

// The call was intended at 0, takes 1 s and settles 5 s later: from 6,000 ms on it may be looked up.
const operationKey = MAIL_KEY;
const found: Finding = { case: "found", value: payload("sent") };
const absent: Finding = { case: "absent" };
const unknown: Finding = { case: "unknown", value: failure({ message: "the sink is down" }) };
const { IN_DOUBT, INTENDED, NEEDS_REVIEW, OBSERVED } = OperationStatus;

const started = (): Scenario =>
  Scenario.ofOne().given(leased(0, 1), declared({ sinkKind: SinkKind.RECONCILABLE }));
const inDoubt = (): Scenario =>
  started()
    .given(doubted(), leaseEnded(0, 1), leased(0, 2, { attempt: 1 }))
    .at(6000);
const cannotTell = (lookUpAtMs: number) =>
  reconciled({ ...unknown }, IN_DOUBT, START_MS + lookUpAtMs);

describe("ReconcileOperation", () => {
  it("records what was found, for reuse", () => {
    const { state } = inDoubt()
      .when(reconcile(2, "i2", found))
      .records(reconciled({ case: "found", value: payload("sent") }, OBSERVED))
      .answering({ case: "reuse", operationKey })
      .go();
    expect(state.operations[0]).toMatchObject({
      status: OBSERVED,
      result: payload("sent"),
      reconciled: true,
      settledIntentId: "",
      settledSeenThrough: undefined,
      settledEvent: 7,
      settledAtMs: START_MS + 6000,
    });
  });

  it("lets the caller proceed when the effect is absent", () => {
    const { state } = inDoubt()
      .when(reconcile(2, "i2", absent))
      .records(
        reconciled({ case: "absent", value: {} }, INTENDED),
        intended({ intentId: "i2", leaseVersion: 2, callByMs: START_MS + 7000 }),
      )
      .answering({ case: "proceed", operationKey, callMs: 1000 })
      .go();
    expect(state.operations[0]).toMatchObject({
      status: INTENDED,
      intentId: "i2",
      calls: 2,
      callOpen: true,
      earlierDoubt: false,
    });
  });

  it("asks again with growing waits when it cannot tell, and the fifth time a person", () => {
    const scenario = inDoubt();
    const [waits, dueMs] = [
      [1000, 2000, 4000, 8000],
      [6000, 7000, 9000, 13_000],
    ];
    for (const [index, notBeforeMs] of waits.entries()) {
      const nowMs = dueMs[index] ?? 0;
      scenario
        .at(nowMs)
        .when(reconcile(2, "i2", unknown))
        .records(cannotTell(nowMs + notBeforeMs))
        .answering({ case: "lookUp", operationKey, notBeforeMs });
    }
    const { state } = scenario
      .at(21_000)
      .when(reconcile(2, "i2", unknown))
      .records(
        cannotTell(21_000 + 16_000),
        reviewOpened({
          known: expect.stringContaining(
            '5 look-ups could not tell. The last call ended with "the sink is down"',
          ),
        }),
        leaseEnded(0, 2, {
          attempt: 1,
          reason: LeaseEndReason.REVIEW,
          next: TaskStatus.NEEDS_REVIEW,
        }),
      )
      .answering({ case: "review", operationKey, review: 0, keepsLease: false })
      .go();
    expect(state.operations[0]?.status).toBe(NEEDS_REVIEW);
  });

  it("counts look-ups anew after another call", () => {
    const { state } = inDoubt().given(
      cannotTell(7000),
      reconciled({ ...absent, value: {} }, INTENDED),
      intended({ intentId: "i2", leaseVersion: 2, callByMs: START_MS + 7000 }),
    );
    expect(state.operations[0]).toMatchObject({ lookUps: 0, lookUpAtMs: 0 });
  });
});

describe("ReconcileOperation again", () => {
  it("is existing when the effect was found, whatever it says now", () => {
    const scenario = inDoubt().given(
      reconciled({ case: "found", value: payload("sent") }, OBSERVED),
    );
    for (const finding of [found, absent, unknown]) {
      scenario
        .when(reconcile(2, "i2", finding))
        .isExisting()
        .answering({ case: "reuse", operationKey });
    }
  });

  it("is existing while the call that followed it is open, in what time is left", () => {
    const scenario = inDoubt().given(
      reconciled({ case: "absent", value: {} }, INTENDED),
      intended({ intentId: "i2", leaseVersion: 2, callByMs: START_MS + 7000 }),
    );
    scenario
      .at(6400)
      .when(reconcile(2, "i2", absent))
      .isExisting()
      .answering({ case: "proceed", operationKey, callMs: 600 });
  });

  it("does not count a look-up twice that could not tell", () => {
    const scenario = inDoubt().given(cannotTell(7000)).at(6999);
    scenario
      .when(reconcile(2, "i2", unknown))
      .isExisting()
      .answering({ case: "lookUp", operationKey, notBeforeMs: 1 });
    expect(scenario.state.operations[0]?.lookUps).toBe(1);
  });

  it("takes a finding also sooner than it was asked for", () => {
    inDoubt()
      .given(cannotTell(7000))
      .at(6500)
      .when(reconcile(2, "i2", found))
      .records(reconciled({ case: "found", value: payload("sent") }, OBSERVED));
  });

  it("and an intent meanwhile, are told to look up not before the wait is over", () => {
    inDoubt()
      .given(cannotTell(7000))
      .at(6500)
      .when(intend(2, "i3"))
      .isExisting()
      .answering({ case: "lookUp", operationKey, notBeforeMs: 500 });
  });
});

const over = (): Scenario =>
  started().given(doubted(), leaseEnded(0, 1), runClosed(RunStatus.TERMINATED)).at(6000);

describe("ReconcileOperation is refused for its lease", () => {
  it("without a lease in a run", () => {
    over()
      .when(reconcile(2, "i2", found, { lease: undefined }))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("for a task that the run has not, before a run that is over", () => {
    over()
      .when(reconcile(2, "i2", found, { lease: { task: 5, leaseVersion: 1 } }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });

  it("when the run is over, before a lost lease", () => {
    over()
      .when(reconcile(1, "i2", found))
      .rejects("PAWL_RUN_OVER");
  });

  it("when the lease is lost, before an operation that is not there", () => {
    inDoubt()
      .when(reconcile(1, "i2", found, { operationKey: "none" }))
      .rejects("PAWL_LEASE_LOST");
  });
});

describe("ReconcileOperation is refused", () => {
  it("for an operation that the run has not", () => {
    inDoubt()
      .when(reconcile(2, "i2", found, { operationKey: "none" }))
      .rejects("PAWL_OPERATION_NOT_FOUND");
  });

  it.each([
    ["its call is open", started()],
    ["its call never left", started().given(observedNotSent())],
  ])("while nothing is in doubt: %s", (_name, scenario) => {
    scenario
      .at(6000)
      .when(reconcile(1, "i2", absent))
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "operation",
        status: "INTENDED",
        command: "ReconcileOperation",
        legal: ["intend it again"],
      });
  });

  it("when another call was made since the look-up", () => {
    inDoubt()
      .when(reconcile(2, "i3", absent, { lookedUpIntentId: "i0" }))
      .rejects("PAWL_STALE_INTENT");
    inDoubt()
      .when(reconcile(2, "i3", absent, { lookedUpIntentId: "i1" }))
      .records(
        reconciled({ case: "absent", value: {} }, INTENDED),
        intended({ intentId: "i3", leaseVersion: 2, callByMs: START_MS + 7000 }),
      );
  });

  it.each([found, absent, unknown])("before the call can have no more effect: $case", (finding) => {
    const when = inDoubt()
      .at(5999)
      .when(reconcile(2, "i2", finding));
    when.rejects("PAWL_TOO_EARLY", {
      entity: "operation",
      status: "IN_DOUBT",
      command: "decide about it",
      legal: ["wait 1 ms"],
    });
    expect(when.decision).toMatchObject({ rejection: { retryAfterMs: 1 } });
  });

  it.each([
    ["OBSERVED", observedResult()],
    ["REFUSED", observedRefused()],
  ])("never when it is %s: what is recorded is reused", (_status, event) => {
    started()
      .given(event)
      .when(reconcile(1, "i2", absent))
      .isExisting()
      .answering({ case: "reuse", operationKey });
  });
});
