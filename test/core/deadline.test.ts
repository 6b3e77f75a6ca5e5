import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { nextDeadlineMs } from "@pawl/server/core/deadline.js";
import { describe, expect, it } from "vitest";
import { fireDeadline } from "./support/commands.js";
import { attemptFailed, cancelRequested, completed, leased, leaseEnded } from "./support/events.js";
import type { TaskParts } from "./support/plans.js";
import { Scenario } from "./support/scenario.js";
import { START_MS } from "./support/values.js";

/** In ms after the start of the run. */
function nextOf(scenario: Scenario): number | undefined {
  const { state } = scenario;
  const [task] = state.tasks;
  const [spec] = state.plan.tasks;
  if (task === undefined || spec === undefined) throw new Error("no task");
  const next = nextDeadlineMs(state, task, spec);
  return next === undefined ? undefined : next - START_MS;
}

const { BACKOFF } = TaskStatus;
const held = (parts: TaskParts): Scenario => Scenario.ofOne(parts).at(100).given(leased(0, 1));
const backingOff = (parts: TaskParts): Scenario =>
  held(parts)
    .at(200)
    .given(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1200 }));

describe("the next deadline of a task", () => {
  it.each<[string, Scenario, number | undefined]>([
    ["READY without timeouts: none", Scenario.ofOne(), undefined],
    ["READY: schedule-to-start", Scenario.ofOne({ scheduleToStartMs: 500 }), 500],
    [
      "READY: the earlier of two",
      Scenario.ofOne({ scheduleToStartMs: 500, scheduleToCloseMs: 400 }),
      400,
    ],
    ["READY: start-to-close does not count", Scenario.ofOne({ startToCloseMs: 5 }), undefined],
    ["LEASED without timeouts: none", held({}), undefined],
    ["LEASED: start-to-close, from the claim", held({ startToCloseMs: 300 }), 400],
    [
      "LEASED: schedule-to-close, from the first READY",
      held({ startToCloseMs: 300, scheduleToCloseMs: 350 }),
      350,
    ],
    [
      "LEASED and asked to stop: the grace",
      held({ cancelGraceMs: 70 }).given(cancelRequested()),
      170,
    ],
    [
      "LEASED and asked to stop: no later than the others",
      held({ startToCloseMs: 20 }).given(cancelRequested()),
      120,
    ],
    ["BACKOFF: the next attempt", backingOff({}), 1200],
    ["BACKOFF: schedule-to-close", backingOff({ scheduleToCloseMs: 900 }), 900],
    ["COMPLETED: none", held({ scheduleToCloseMs: 900 }).given(completed(0, 1)), undefined],
  ])("%s", (_name, scenario, expected) => {
    expect(nextOf(scenario)).toBe(expected);
  });

  it("is undefined while a person decides", () => {
    const scenario = held({ scheduleToCloseMs: 900, startToCloseMs: 5 });
    const [task] = scenario.state.tasks;
    if (task !== undefined) task.status = TaskStatus.NEEDS_REVIEW;
    expect(nextOf(scenario)).toBeUndefined();
  });

  it("is where FireDeadline acts, and not a ms before", () => {
    const all = { scheduleToStartMs: 700, startToCloseMs: 700, scheduleToCloseMs: 9000 };
    const given = [
      Scenario.ofOne(all),
      held(all),
      held({ cancelGraceMs: 70 }).given(cancelRequested()),
      backingOff(all),
      held(all).given(leaseEnded(0, 1, { reason: LeaseEndReason.RETURNED })),
    ];
    for (const scenario of given) {
      const dueMs = nextOf(scenario) ?? 0;
      expect(
        scenario
          .at(dueMs - 1)
          .when(fireDeadline())
          .summary(),
      ).toBe("existing");
      expect(scenario.at(dueMs).when(fireDeadline()).summary()).not.toBe("existing");
    }
  });
});
