import { DoubtCause } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import type { IntendOperation } from "@pawl/server/core/command.js";
import { legalChoices } from "@pawl/server/core/review-choices.js";
import { describe, expect, it } from "vitest";
import { intend, observe, reconcile, resolveReview } from "./support/commands.js";
import {
  declared,
  doubted,
  intended,
  observed,
  reconciled,
  reviewOpened,
  reviewResolved,
} from "./support/events.js";
import { Scenario } from "./support/scenario.js";
import { failure, fingerprint, payload, START_MS } from "./support/values.js";

const KEY = "namespace/default/pay/invoice-4711";

/** A caller in no run; calls take 1 s and settle 5 s later. */
function perform(
  intentId: string,
  sinkKind: SinkKind,
  parts: Partial<IntendOperation> = {},
): IntendOperation {
  const keyWindowMs = sinkKind === SinkKind.IDEMPOTENT ? 60_000 : 0;
  return intend(0, intentId, {
    lease: undefined,
    scope: OperationScope.NAMESPACE,
    name: "pay",
    key: "invoice-4711",
    sinkKind,
    keyWindowMs,
    ...parts,
  });
}

const firstIntent = (sinkKind: SinkKind) =>
  declared(
    {
      key: KEY,
      uuid: expect.any(String),
      name: "pay",
      scope: OperationScope.NAMESPACE,
      discriminator: "invoice-4711",
      namespace: "default",
      sinkKind,
      keyWindowEndsMs: sinkKind === SinkKind.IDEMPOTENT ? START_MS + 60_000 : 0,
    },
    { leaseVersion: 0, principal: "cron" },
  );

function opened(sinkKind: SinkKind): Scenario {
  const scenario = Scenario.empty();
  scenario.when(perform("i1", sinkKind), { principal: "cron" }).records(firstIntent(sinkKind));
  return scenario;
}

const overdue = { ...doubted(0, DoubtCause.CALL_OVERDUE) };
const again = (intentId: string, callByMs: number) =>
  intended({ intentId, leaseVersion: 0, callByMs: START_MS + callByMs, principal: "local" });

describe("an operation of scope NAMESPACE", () => {
  it("is an aggregate of its own, begun by its first intent", () => {
    expect(opened(SinkKind.OPAQUE).state).toMatchObject({
      kind: "ledger",
      namespace: "default",
      runId: "",
      principal: "cron",
      startedAtMs: START_MS,
      eventCount: 1,
      tasks: [],
      operations: [{ status: OperationStatus.INTENDED, declaration: { key: KEY } }],
    });
  });

  it("keeps namespace, name and key apart", () => {
    const keys = [
      perform("i1", SinkKind.OPAQUE, { namespace: "other" }),
      perform("i1", SinkKind.OPAQUE, { name: "refund" }),
      perform("i1", SinkKind.OPAQUE, { key: "invoice/4711" }),
    ].map((command) => {
      const { decision } = Scenario.empty().when(command);
      return decision.accepted ? decision.reply.intent?.operationKey : undefined;
    });
    expect(keys).toEqual([
      "namespace/other/pay/invoice-4711",
      "namespace/default/refund/invoice-4711",
      "namespace/default/pay/invoice%2F4711",
    ]);
  });

  it("is reused by every later caller once it is observed", () => {
    const scenario = opened(SinkKind.OPAQUE);
    const outcome = { case: "result", value: payload("paid") } as const;
    scenario.when(observe("i1", outcome, KEY)).records(observed(outcome, OperationStatus.OBSERVED));
    scenario
      .when(perform("i2", SinkKind.OPAQUE))
      .isExisting()
      .answering({ case: "reuse", operationKey: KEY });
  });

  it("is refused to a caller with another request", () => {
    const { decision } = opened(SinkKind.OPAQUE).when(
      perform("i2", SinkKind.OPAQUE, { fingerprint: fingerprint(8) }),
    );
    expect(decision).toMatchObject({
      accepted: false,
      rejection: { reason: "PAWL_FINGERPRINT_CONFLICT" },
    });
  });

  it("records who intends again", () => {
    const scenario = opened(SinkKind.IDEMPOTENT).at(6000);
    scenario
      .when(perform("i2", SinkKind.IDEMPOTENT), { principal: "ann" })
      .records(
        overdue,
        intended({ intentId: "i2", leaseVersion: 0, callByMs: START_MS + 7000, principal: "ann" }),
      );
  });

  it("is one call for one caller: the other waits until the call can have no more effect", () => {
    const scenario = opened(SinkKind.IDEMPOTENT);
    scenario
      .at(400)
      .when(perform("i1", SinkKind.IDEMPOTENT))
      .isExisting()
      .answering({ case: "proceed", operationKey: KEY, callMs: 600 });
    scenario
      .when(perform("i2", SinkKind.IDEMPOTENT))
      .isExisting()
      .answering({ case: "wait", operationKey: KEY, notBeforeMs: 5600 });
  });
});

describe("an operation of scope NAMESPACE whose caller is gone", () => {
  it("is called again at an idempotent sink", () => {
    opened(SinkKind.IDEMPOTENT)
      .at(6000)
      .when(perform("i2", SinkKind.IDEMPOTENT))
      .records(overdue, again("i2", 7000));
  });

  it("is looked up at a reconcilable one, without a lease", () => {
    const scenario = opened(SinkKind.RECONCILABLE).at(6000);
    scenario
      .when(perform("i2", SinkKind.RECONCILABLE))
      .records(overdue)
      .answering({ case: "lookUp", operationKey: KEY, notBeforeMs: 0 });
    scenario
      .when(reconcile(0, "i2", { case: "absent" }, { lease: undefined, operationKey: KEY }))
      .records(
        reconciled({ case: "absent", value: {} }, OperationStatus.INTENDED),
        again("i2", 7000),
      );
    scenario
      .when(reconcile(0, "i3", { case: "absent" }, { lease: undefined, operationKey: KEY }))
      .rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("goes to a person at an opaque one, who may not fail a task", () => {
    const scenario = opened(SinkKind.OPAQUE).at(6000);
    scenario
      .when(perform("i2", SinkKind.OPAQUE))
      .records(overdue, reviewOpened({ known: expect.any(String) }))
      .answering({ case: "review", operationKey: KEY, review: 0, keepsLease: false });
    scenario
      .when(perform("i3", SinkKind.OPAQUE))
      .isExisting()
      .answering({ case: "review", operationKey: KEY, review: 0, keepsLease: false });
    const [review] = scenario.state.reviews;
    expect(review === undefined ? [] : legalChoices(scenario.state, review)).toEqual([
      ReviewChoice.DONE,
      ReviewChoice.RETRY,
      ReviewChoice.NOT_DONE,
      ReviewChoice.ABANDON,
    ]);
    scenario.when(resolveReview(ReviewChoice.FAIL)).rejects("PAWL_ILLEGAL_TRANSITION");
    scenario.when(resolveReview(ReviewChoice.RETRY)).records(reviewResolved(ReviewChoice.RETRY));
    scenario.when(perform("i3", SinkKind.OPAQUE)).records(again("i3", 7000));
  });

  it("is settled by its late observation, and marked so", () => {
    const outcome = { case: "result", value: payload("paid") } as const;
    const scenario = opened(SinkKind.RECONCILABLE).given(overdue);
    scenario
      .when(observe("i1", outcome, KEY))
      .records(observed(outcome, OperationStatus.OBSERVED, { late: true }));
    expect(scenario.state.operations[0]).toMatchObject({ reconciled: true, settledIntentId: "i1" });
  });
});

describe("a namespace's operation knows no tasks:", () => {
  it.each([
    [
      "an intent under a lease",
      intend(1, "i2", { scope: OperationScope.NAMESPACE, name: "pay", key: "invoice-4711" }),
    ],
    [
      "a look-up under a lease",
      reconcile(1, "i2", { case: "unknown", value: failure() }, { operationKey: KEY }),
    ],
    ["a claim", { kind: "LeaseTask", task: 0, sessionId: "s1", worker: "w1" } as const],
  ])("%s is refused", (_name, command) => {
    opened(SinkKind.OPAQUE).when(command).rejects("PAWL_TASK_NOT_FOUND");
  });
});
