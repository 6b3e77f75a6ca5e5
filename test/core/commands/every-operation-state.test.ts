import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { operationStatusName, operationTransitions } from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import { intend, observe, reconcile, resolveReview } from "../support/commands.js";
import {
  declared,
  leased,
  observedNotSent,
  observedRefused,
  observedResult,
  observedUnknown,
  reviewOpened,
  reviewResolved,
} from "../support/events.js";
import { rowOf } from "../support/outcome-row.js";
import { type RunCommand, Scenario } from "../support/scenario.js";
import { failure, payload } from "../support/values.js";

const ILLEGAL = "PAWL_ILLEGAL_TRANSITION";
const CONFLICT = "PAWL_FINGERPRINT_CONFLICT";
const STALE = "PAWL_STALE_INTENT";

/** An operation in each state at a reconcilable sink, of a task that is LEASED under lease 1. */
const operations: Readonly<Record<string, readonly EventBody[]>> = {
  "INTENDED, call open": [],
  "INTENDED, no call open": [observedNotSent()],
  "INTENDED after RETRY": [observedUnknown(), reviewOpened(), reviewResolved(ReviewChoice.RETRY)],
  IN_DOUBT: [observedUnknown()],
  NEEDS_REVIEW: [observedUnknown(), reviewOpened()],
  OBSERVED: [observedResult()],
  REFUSED: [observedRefused()],
  ABANDONED: [observedUnknown(), reviewOpened(), reviewResolved(ReviewChoice.ABANDON)],
};

const ofOperation: Readonly<Record<string, RunCommand>> = {
  "the same intent": intend(1, "i1"),
  "another intent": intend(1, "i2"),
  "observe result": observe("i1", { case: "result", value: payload("ok") }),
  "observe refused": observe("i1", { case: "refused", value: failure() }),
  "observe not sent": observe("i1", { case: "notSent", value: failure() }),
  "observe unknown": observe("i1", { case: "unknown", value: failure() }),
  "observe another call": observe("i0", { case: "result", value: payload("ok") }),
  "look-up found": reconcile(1, "i2", { case: "found", value: payload("ok") }),
  "look-up absent": reconcile(1, "i2", { case: "absent" }),
  "look-up unknown": reconcile(1, "i2", { case: "unknown", value: failure() }),
  "resolve DONE": resolveReview(ReviewChoice.DONE, { result: payload("ok") }),
  "resolve RETRY": resolveReview(ReviewChoice.RETRY),
};

const NO_REVIEW = "PAWL_REVIEW_NOT_FOUND";
const PROCEEDS = "operationIntended: proceed";
const REUSES = "existing: reuse";

/** At 6,000 ms, when every earlier call can have no more effect. */
const operationOutcomes: Readonly<Record<string, readonly string[]>> = {
  "INTENDED, call open": [
    "existing: proceed",
    "operationDoubted: lookUp",
    "operationObserved",
    "operationObserved",
    "operationObserved",
    "operationObserved",
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    NO_REVIEW,
    NO_REVIEW,
  ],
  "INTENDED, no call open": [
    PROCEEDS,
    PROCEEDS,
    "operationObserved",
    "operationObserved",
    "existing",
    STALE,
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    NO_REVIEW,
    NO_REVIEW,
  ],
  "INTENDED after RETRY": [
    PROCEEDS,
    PROCEEDS,
    "operationObserved",
    "operationObserved",
    "existing",
    STALE,
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    CONFLICT,
    "existing",
  ],
  IN_DOUBT: [
    "existing: lookUp",
    "existing: lookUp",
    "operationObserved",
    "operationObserved",
    "operationObserved",
    "existing",
    STALE,
    "operationReconciled: reuse",
    "operationReconciled operationIntended: proceed",
    "operationReconciled: lookUp",
    NO_REVIEW,
    NO_REVIEW,
  ],
  NEEDS_REVIEW: [
    "leaseEnded: review",
    "leaseEnded: review",
    "operationObserved reviewResolved",
    "operationObserved reviewResolved",
    "operationObserved reviewResolved",
    "existing",
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    "reviewResolved",
    "reviewResolved",
  ],
  OBSERVED: [
    REUSES,
    REUSES,
    "existing",
    CONFLICT,
    CONFLICT,
    CONFLICT,
    "existing",
    REUSES,
    REUSES,
    REUSES,
    NO_REVIEW,
    NO_REVIEW,
  ],
  REFUSED: [
    REUSES,
    REUSES,
    CONFLICT,
    "existing",
    CONFLICT,
    CONFLICT,
    CONFLICT,
    REUSES,
    REUSES,
    REUSES,
    NO_REVIEW,
    NO_REVIEW,
  ],
  ABANDONED: [
    REUSES,
    REUSES,
    CONFLICT,
    CONFLICT,
    "existing",
    "existing",
    CONFLICT,
    REUSES,
    REUSES,
    REUSES,
    CONFLICT,
    CONFLICT,
  ],
};

describe("every command on an operation in every state", () => {
  it("has every state of the table", () => {
    const states = Object.keys(operations).map((name) => name.split(/[, ]/)[0]);
    expect([...new Set(states)]).toEqual([...operationTransitions.keys()].map(operationStatusName));
  });

  it.each(Object.keys(operations))("%s", (status) => {
    const scenario = Scenario.ofOne()
      .given(
        leased(0, 1),
        declared({ sinkKind: SinkKind.RECONCILABLE }),
        ...(operations[status] ?? []),
      )
      .at(6000);
    const outcomes = Object.values(ofOperation).map((command) => scenario.when(command).summary());
    const names = Object.keys(ofOperation);
    expect(rowOf(names, outcomes)).toEqual(rowOf(names, operationOutcomes[status] ?? []));
  });
});
