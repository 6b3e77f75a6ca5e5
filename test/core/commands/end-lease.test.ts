import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import { endLease } from "../support/commands.js";
import {
  cancelRequested,
  completed,
  declared,
  doubted,
  leased,
  leaseEnded,
  taskReady,
} from "../support/events.js";
import type { TaskParts } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

const retry = { attemptsMax: 2, initialMs: 1000, jitter: 0 };
const held = (parts: TaskParts = { retry }): Scenario => Scenario.ofOne(parts).given(leased(0, 1));
const { EXPIRED, NOT_ACKNOWLEDGED, NOT_HELD, RETURNED, TIMED_OUT } = LeaseEndReason;
const { BACKOFF, FAILED, READY } = TaskStatus;

/** The failure that the kernel records, by its code. */
function withCode(code: string): unknown {
  return expect.objectContaining({ code, retryable: true });
}

function endedEvent(events: readonly EventBody[]): unknown {
  return events.at(-1)?.value;
}

function decided(scenario: Scenario, command: ReturnType<typeof endLease>): readonly EventBody[] {
  const { decision } = scenario.when(command);
  expect(decision).toMatchObject({ accepted: true });
  return decision.accepted ? decision.events : [];
}

describe("EndLease", () => {
  it.each([RETURNED, NOT_HELD])(
    "for reason %i makes the task READY at once and uses no attempt",
    (reason) => {
      const { state } = held()
        .when(endLease(1, reason))
        .records(leaseEnded(0, 1, { reason }))
        .go();
      expect(state.tasks[0]).toMatchObject({
        status: READY,
        leaseVersion: 1,
        attempt: 1,
        usedAttempts: 0,
        sessionId: "",
      });
    },
  );

  it("keeps a returned task back for as long as the worker says", () => {
    held()
      .at(100)
      .when(endLease(1, RETURNED, { delayMs: 250 }))
      .records(leaseEnded(0, 1, { next: BACKOFF, readyAtMs: START_MS + 350 }));
  });

  it("keeps the last progress, and an earlier one when there is none", () => {
    const scenario = held()
      .when(endLease(1, RETURNED, { progress: payload(1) }))
      .records(leaseEnded(0, 1, { progress: payload(1) }))
      .go();
    scenario
      .given(leased(0, 2, { attempt: 1 }))
      .when(endLease(2))
      .records(leaseEnded(0, 2, { attempt: 1 }));
    expect(scenario.state.tasks[0]?.progress).toEqual(payload(1));
  });

  it.each([
    [EXPIRED, "PAWL_LEASE_EXPIRED"],
    [TIMED_OUT, "PAWL_ATTEMPT_TIMED_OUT"],
  ])("for reason %i counts as a failed attempt", (reason, code) => {
    expect(endedEvent(decided(held({ retry, startToCloseMs: 9 }), endLease(1, reason)))).toEqual({
      ...leaseEnded(0, 1, { reason, next: BACKOFF, readyAtMs: START_MS + 1000, usesAttempt: true })
        .value,
      failure: withCode(code),
    });
  });

  it("fails the task when it was the last attempt", () => {
    const scenario = held().given(
      leaseEnded(0, 1, { reason: EXPIRED, next: BACKOFF, readyAtMs: START_MS, usesAttempt: true }),
    );
    const events = decided(scenario.given(taskReady(0), leased(0, 2)), endLease(2, EXPIRED));
    expect(endedEvent(events)).toMatchObject({ next: FAILED, readyAtMs: 0, usesAttempt: true });
    expect(scenario.commit(events)).toMatchObject([
      { case: "runClosed", value: { status: RunStatus.FAILED } },
    ]);
  });

  it("puts the calls under way in doubt", () => {
    held().given(declared()).when(endLease(1)).records(doubted(), leaseEnded(0, 1));
  });

  it("ends the task CANCELLED when its run was asked to stop", () => {
    const event = leaseEnded(0, 1, {
      reason: EXPIRED,
      next: TaskStatus.CANCELLED,
      usesAttempt: true,
      workerLosses: 0,
    });
    held().given(cancelRequested()).when(endLease(1, EXPIRED)).records(event);
  });
});

describe("EndLease again", () => {
  it("is existing when the lease was returned", () => {
    held().given(leaseEnded(0, 1)).when(endLease(1)).isExisting();
  });

  it("is refused when the lease ended for another reason, or to another end", () => {
    held()
      .given(leaseEnded(0, 1, { reason: NOT_HELD }))
      .when(endLease(1))
      .rejects("PAWL_LEASE_LOST");
    held().given(leaseEnded(0, 1)).when(endLease(1, EXPIRED)).rejects("PAWL_LEASE_LOST");
  });

  it("is refused for a completed lease, although an earlier one was returned", () => {
    const scenario = held().given(leaseEnded(0, 1), leased(0, 2, { attempt: 1 }));
    scenario.commit([completed(0, 2)]);
    scenario
      .when(endLease(2))
      .rejects("PAWL_LEASE_LOST", { held: 2, current: 2, status: "COMPLETED", cause: "" });
  });

  it("is refused for a task that the run has not", () => {
    held()
      .when(endLease(1, RETURNED, { task: 4 }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });
});

describe("offers that nobody acknowledges", () => {
  const unacknowledged = (version: number, count: number): EventBody =>
    leaseEnded(0, version, { reason: NOT_ACKNOWLEDGED, unacknowledgedOffers: count });

  /** A run whose task was offered in vain this many times and is offered once more. */
  function afterOffers(count: number): Scenario {
    const scenario = held();
    for (let offer = 1; offer <= count; offer++) {
      scenario.given(unacknowledged(offer, offer), leased(0, offer + 1, { attempt: 1 }));
    }
    return scenario;
  }

  it("use no attempt, four times in a row", () => {
    for (const before of [0, 1, 2, 3]) {
      afterOffers(before)
        .when(endLease(before + 1, NOT_ACKNOWLEDGED))
        .records(unacknowledged(before + 1, before + 1));
    }
  });

  it("count as one attempt the fifth time, and are counted anew", () => {
    const scenario = afterOffers(4);
    const events = decided(scenario, endLease(5, NOT_ACKNOWLEDGED));
    expect(endedEvent(events)).toMatchObject({
      next: BACKOFF,
      readyAtMs: START_MS + 1000,
      usesAttempt: true,
      unacknowledgedOffers: 0,
      failure: { code: "PAWL_OFFER_NOT_ACKNOWLEDGED" },
    });
    scenario.commit(events);
    expect(scenario.state.tasks[0]).toMatchObject({ usedAttempts: 1, unacknowledgedOffers: 0 });
  });

  it("are forgotten when a lease ends otherwise", () => {
    afterOffers(4)
      .given(leaseEnded(0, 5), leased(0, 6, { attempt: 1 }))
      .when(endLease(6, NOT_ACKNOWLEDGED))
      .records(unacknowledged(6, 1));
  });

  it("fail a task in the end: ten in vain use up two attempts", () => {
    const scenario = afterOffers(4);
    scenario.commit(decided(scenario, endLease(5, NOT_ACKNOWLEDGED)));
    scenario.given(taskReady(0), leased(0, 6, { attempt: 2 }));
    for (const offer of [6, 7, 8, 9]) {
      scenario.given(unacknowledged(offer, offer - 5), leased(0, offer + 1, { attempt: 2 }));
    }
    expect(endedEvent(decided(scenario, endLease(10, NOT_ACKNOWLEDGED)))).toMatchObject({
      next: FAILED,
    });
  });
});
