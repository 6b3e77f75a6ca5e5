import { DoubtCause } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { failTask } from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  declared,
  doubted,
  intended,
  leased,
  leaseEnded,
  observedNotSent,
  taskCancelled,
  taskReady,
} from "../support/events.js";
import type { TaskParts } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS, sha256 } from "../support/values.js";

const retry = { attemptsMax: 3, initialMs: 1000, backoffCoefficient: 2, jitter: 0 };
const held = (parts: TaskParts = { retry }): Scenario => Scenario.ofOne(parts).given(leased(0, 1));
const { BACKOFF, FAILED } = TaskStatus;

describe("FailTask", () => {
  it("backs off while attempts are left, and keeps failure and progress", () => {
    const { state } = held()
      .at(500)
      .when(failTask(1, { progress: payload("half") }))
      .records(
        attemptFailed(0, 1, {
          next: BACKOFF,
          readyAtMs: START_MS + 1500,
          progress: payload("half"),
        }),
      )
      .go();
    expect(state.tasks[0]).toMatchObject({
      status: BACKOFF,
      dueAtMs: START_MS + 1500,
      usedAttempts: 1,
      failure: failure(),
      progress: payload("half"),
      sessionId: "",
    });
  });

  it("doubles the wait, and fails the task and the run with the last attempt", () => {
    const scenario = held();
    scenario
      .when(failTask(1))
      .records(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }));
    scenario
      .at(1000)
      .given(taskReady(0), leased(0, 2))
      .when(failTask(2))
      .records(attemptFailed(0, 2, { next: BACKOFF, readyAtMs: START_MS + 3000 }));
    const { followed } = scenario
      .at(3000)
      .given(taskReady(0), leased(0, 3))
      .when(failTask(3))
      .records(attemptFailed(0, 3));
    expect(followed).toMatchObject([
      {
        case: "runClosed",
        value: {
          status: RunStatus.FAILED,
          failure: {
            code: "PAWL_TASK_FAILED",
            message: 'Task "only" failed for good.',
            cause: failure(),
          },
        },
      },
    ]);
  });

  it("takes the worker's wait instead of the policy's", () => {
    held()
      .when(failTask(1, { retryAfterMs: 40 }))
      .records(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 40 }));
    held()
      .when(failTask(1, { retryAfterMs: 0 }))
      .records(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS }));
  });

  it.each([
    ["says so", failure({ retryable: false })],
    ["has a non-retryable kind", failure({ kind: "Fatal" })],
    ["has a non-retryable code", failure({ code: "E42" })],
  ])("does not retry when the failure %s", (_name, says) => {
    held({ retry: { ...retry, nonRetryable: ["Fatal", "E42"] } })
      .when(failTask(1, { failure: says }))
      .records(attemptFailed(0, 1, { failure: says }));
  });

  it("does not take an empty code for a non-retryable one", () => {
    held({ retry: { ...retry, nonRetryable: [""] } })
      .when(failTask(1))
      .records(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }));
  });
});

describe("FailTask and schedule-to-close", () => {
  it.each([
    ["after", 1000, FAILED],
    ["at", 1001, FAILED],
    ["before", 1002, BACKOFF],
  ])("when the next attempt would begin %s it", (_name, scheduleToCloseMs, next) => {
    // It fails 1 ms after its start; the next attempt is due at 1,001 ms.
    held({ retry, scheduleToCloseMs })
      .at(1)
      .when(failTask(1))
      .records(attemptFailed(0, 1, { next, readyAtMs: next === BACKOFF ? START_MS + 1001 : 0 }));
  });
});

describe("FailTask again", () => {
  it("is existing while the task backs off, and after its next lease began", () => {
    const scenario = held().given(
      attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }),
    );
    scenario.when(failTask(1)).isExisting();
    scenario.given(taskReady(0)).when(failTask(1)).isExisting();
    scenario.given(leased(0, 2)).when(failTask(1)).isExisting();
  });

  it("is refused once the next attempt has reported", () => {
    const scenario = held().given(
      attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS }),
      taskReady(0),
      leased(0, 2),
    );
    scenario.commit([completed(0, 2)]);
    scenario
      .when(failTask(1))
      .rejects("PAWL_LEASE_LOST", { held: 1, current: 2, status: "COMPLETED", cause: "" });
  });

  it("is refused after a completion under the same lease", () => {
    const scenario = held();
    scenario.commit([completed(0, 1, payload("ok"))]);
    scenario.when(failTask(1)).rejects("PAWL_FINGERPRINT_CONFLICT", {
      entity: "report",
      id: "only",
      recorded: sha256(payload("ok")),
      received: sha256(new Uint8Array(0)),
      differs: "output",
    });
  });
});

describe("FailTask is refused", () => {
  it("for a task that the run has not", () => {
    held()
      .when(failTask(1, { task: "none" }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });

  it("when the lease is lost", () => {
    held().given(leaseEnded(0, 1)).when(failTask(1)).rejects("PAWL_LEASE_LOST");
  });

  it("under lease version 0, which no lease has", () => {
    Scenario.ofOne().when(failTask(0)).rejects("PAWL_LEASE_LOST");
  });
});

describe("FailTask with operations", () => {
  it("puts the call that is under way in doubt", () => {
    const { state } = held()
      .given(declared())
      .when(failTask(1))
      .records(
        doubted(0, DoubtCause.LEASE_ENDED),
        attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }),
      )
      .go();
    expect(state.operations[0]?.status).toBe(OperationStatus.IN_DOUBT);
  });

  it("leaves alone a call that never left", () => {
    held()
      .given(declared(), observedNotSent())
      .when(failTask(1))
      .records(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }));
  });

  it("leaves alone the calls of other leases", () => {
    held()
      .given(declared(), observedNotSent(), leaseEnded(0, 1), leased(0, 2, { attempt: 1 }))
      .given(intended({ intentId: "i2", leaseVersion: 2 }))
      .when(failTask(2))
      .records(
        doubted(0),
        attemptFailed(0, 2, { attempt: 1, next: BACKOFF, readyAtMs: START_MS + 1000 }),
      );
  });
});

describe("FailTask after cancellation was requested", () => {
  it("ends the task CANCELLED, whatever attempts are left", () => {
    const { followed } = held()
      .given(cancelRequested())
      .when(failTask(1))
      .records(taskCancelled(0, 1));
    expect(followed).toMatchObject([{ case: "runClosed", value: { status: RunStatus.CANCELLED } }]);
  });
});
