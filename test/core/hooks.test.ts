import { LeaseEndReason, TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ApplyHooks } from "@pawl/server/core/apply/hooks.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import {
  attemptFailed,
  cancelRequested,
  completed,
  declared,
  doubted,
  leased,
  leaseEnded,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  runClosed,
  stepRecorded,
  taskCancelled,
  taskReady,
  timedOut,
} from "./support/events.js";
import { planOf } from "./support/plans.js";
import { Scenario } from "./support/scenario.js";
import { START_MS } from "./support/values.js";

const { BACKOFF, CANCELLED, FAILED, NEEDS_REVIEW } = TaskStatus;

/** What `apply` announces of each of these events on tasks 0 `only`, 1 `next` (needs it) and 2 `free`, after what was given. */
function announced(given: readonly EventBody[], ...events: readonly EventBody[]): string[] {
  const heard: string[] = [];
  const hooks: ApplyHooks = {
    taskReady: (_run, task) => heard.push(`ready ${task}`),
    taskMoved: (_run, task) => heard.push(`moved ${task}`),
    leaseOver: (_run, task, cause) => heard.push(`lease of ${task} over: ${cause}`),
    cancelAsked: (_run, task) => heard.push(`asked ${task} to stop`),
    outcomeCame: () => undefined,
    proposalMoved: () => undefined,
    obliged: () => undefined,

    deadlineMoved: () => undefined,
    runClosed: () => heard.push("closed"),
  };
  const scenario = Scenario.started(
    planOf({ only: {}, next: { needs: ["only"] }, free: {} }),
    hooks,
  ).given(...given);
  heard.length = 0;
  scenario.given(...events);
  return heard;
}

const held = [leased(0, 1)];
const ended = (reason: LeaseEndReason, next: TaskStatus) => leaseEnded(0, 1, { reason, next });
const reviewed = [
  ...held,
  declared(),
  observedUnknown(),
  reviewOpened(),
  ended(LeaseEndReason.REVIEW, NEEDS_REVIEW),
];

describe("apply announces what lives outside the state", () => {
  it.each<[string, readonly EventBody[], EventBody, readonly string[]]>([
    ["a claim", [], leased(0, 1), ["moved 0"]],
    [
      "a completion, and what it opens",
      held,
      completed(0, 1),
      ["lease of 0 over: ", "moved 0", "moved 1", "ready 1"],
    ],
    [
      "a failure with another attempt",
      held,
      attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1 }),
      ["lease of 0 over: ", "moved 0"],
    ],
    ["a failure for good", held, attemptFailed(0, 1), ["lease of 0 over: ", "moved 0"]],
    [
      "the end of a backoff",
      [...held, attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1 })],
      taskReady(0),
      ["moved 0", "ready 0"],
    ],
    [
      "a confirmed cancellation",
      [...held, cancelRequested()],
      taskCancelled(0, 1),
      ["lease of 0 over: ", "moved 0"],
    ],
    [
      "a request to stop",
      held,
      cancelRequested(),
      ["moved 0", "asked 0 to stop", "moved 1", "moved 2"],
    ],
    ["a timeout of a READY task", [], timedOut(0, TaskTimeoutKind.SCHEDULE_TO_START), ["moved 0"]],
    [
      "a timeout of a leased task",
      held,
      timedOut(0, TaskTimeoutKind.SCHEDULE_TO_CLOSE),
      ["lease of 0 over: timed-out", "moved 0"],
    ],
    [
      "a review for which a task waited",
      reviewed,
      reviewResolved(ReviewChoice.RETRY),
      ["moved 0", "ready 0"],
    ],
    ["a review that fails its task", reviewed, reviewResolved(ReviewChoice.FAIL), ["moved 0"]],
    [
      "the end of the run",
      [],
      runClosed(RunStatus.TERMINATED),
      ["moved 0", "moved 1", "moved 2", "closed"],
    ],
    ["a step: nothing", held, stepRecorded(0, 1), []],
    ["an intent: nothing", held, declared(), []],
    ["a doubt: nothing", [...held, declared()], doubted(), []],
  ])("%s", (_name, given, event, expected) => {
    expect(announced(given, event)).toEqual(expected);
  });
});

describe("apply says why a lease is over, in the words of the wire", () => {
  it.each([
    [LeaseEndReason.EXPIRED, BACKOFF, "expired"],
    [LeaseEndReason.TIMED_OUT, FAILED, "timed-out"],
    [LeaseEndReason.NOT_HELD, CANCELLED, "returned"],
    [LeaseEndReason.GRACE_OVER, CANCELLED, "cancelled"],
    [LeaseEndReason.TERMINATED, CANCELLED, "terminated"],
  ])("reason %i", (reason, next, cause) => {
    const readyAtMs = next === BACKOFF ? START_MS + 1 : 0;
    const event = leaseEnded(0, 1, {
      reason,
      next,
      readyAtMs,
      failure: attemptFailed(0, 1).value.failure,
    });
    expect(announced(held, event)[0]).toBe(`lease of 0 over: ${cause}`);
  });

  it("and offers the task again when it goes back to READY", () => {
    expect(announced(held, leaseEnded(0, 1, { reason: LeaseEndReason.NOT_ACKNOWLEDGED }))).toEqual([
      "lease of 0 over: not-acknowledged",
      "moved 0",
      "ready 0",
    ]);
    expect(
      announced(
        [...held, declared(), observedUnknown(), reviewOpened()],
        ended(LeaseEndReason.REVIEW, NEEDS_REVIEW),
      ),
    ).toEqual(["lease of 0 over: review", "moved 0"]);
  });
});
