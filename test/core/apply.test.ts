import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { CorruptHistory } from "@pawl/server/core/apply/corrupt.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { apply, applyFirst, compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import {
  attemptFailed,
  completed,
  declared,
  doubted,
  intended,
  leased,
  leaseEnded,
  observedResult,
  reviewOpened,
  reviewResolved,
  stepRecorded,
  taskCancelled,
  taskReady,
} from "./support/events.js";
import { Scenario } from "./support/scenario.js";
import { START_MS } from "./support/values.js";

const started = (): Scenario => Scenario.ofOne();
const held = (): Scenario => started().given(leased(0, 1));
const settled = (): Scenario => held().given(declared(), observedResult());

function applying(
  scenario: Scenario,
  body: EventBody,
  number = scenario.state.eventCount + 1,
): () => void {
  return () => apply(scenario.state, body, { atMs: START_MS, number }, silentHooks);
}

describe("apply refuses an event that does not fit the state", () => {
  it.each<[string, Scenario, EventBody]>([
    ["a lease of a leased task", held(), leased(0, 2)],
    ["a task that is not there", started(), leased(1, 1)],
    ["a lease version that was before", held().given(leaseEnded(0, 1)), leased(0, 1)],
    ["a lease version out of turn", started(), leased(0, 2)],
    ["a step a second time", held().given(stepRecorded(0, 1)), stepRecorded(0, 1)],
    ["an operation a second time", settled(), declared({}, { operation: 1 })],
    ["a completion without a lease", started(), completed(0, 0)],
    ["a completion of another lease", held(), completed(0, 2)],
    ["a failure of another lease", held(), attemptFailed(0, 2)],
    ["a cancellation of another lease", held(), taskCancelled(0, 2)],
    ["an end of another lease", held(), leaseEnded(0, 2)],
    [
      "an end of a lease that waits for a review that is not there",
      held(),
      leaseEnded(0, 1, { next: TaskStatus.NEEDS_REVIEW }),
    ],
    ["READY of a task that does not back off", started(), taskReady(0)],
    ["an operation out of turn", held(), declared({}, { operation: 1 })],
    ["another intent of an operation that is not there", held(), intended()],
    ["another intent of a settled operation", settled(), intended({ intentId: "i2" })],
    ["a second observation", settled(), observedResult()],
    ["a doubt about a settled operation", settled(), doubted()],
    ["a review out of turn", settled(), reviewOpened({ review: 1 })],
    ["a review of a settled operation", settled(), reviewOpened()],
    ["a resolution of a review that is not there", held(), reviewResolved(ReviewChoice.DONE)],
    ["a second start", started(), { case: "runStarted", value: startedValue() }],
    ["an event of the store", started(), { case: "checkpointSealed", value: { chunks: [] } }],
  ])("%s", (_name, scenario, body) => {
    expect(applying(scenario, body)).toThrow(CorruptHistory);
  });

  it("a resolution of a review that is resolved", () => {
    const scenario = held().given(
      declared(),
      doubted(),
      reviewOpened(),
      reviewResolved(ReviewChoice.RETRY),
    );
    expect(applying(scenario, reviewResolved(ReviewChoice.DONE))).toThrow(CorruptHistory);
  });

  it.each([1, 3])("event %i after event 1", (number) => {
    expect(applying(started(), leased(0, 1), number)).toThrow("event 2");
  });

  it("and carries a code for the kernel", () => {
    const error: unknown = new CorruptHistory("this", "it is that");
    expect(error).toMatchObject({
      name: "CorruptHistory",
      code: "PAWL_INTERNAL",
      message: "Expected this, but it is that: the history does not fit the state.",
    });
  });
});

function startedValue(): Extract<EventBody, { case: "runStarted" }>["value"] {
  const { state } = started();
  return {
    namespace: "default",
    runId: "r1",
    incarnation: 1,
    workflow: "w",
    plan: state.plan.bytes,
    input: undefined,
    fingerprint: new Uint8Array(32),
    labels: [],
    traceparent: "",
    requestId: "",
    principal: "",
  };
}

describe("applyFirst refuses", () => {
  const first = (body: EventBody, number = 1) =>
    applyFirst(body, { atMs: START_MS, number }, compileRecordedPlan, silentHooks);

  it("a first event that is not number 1", () => {
    expect(() => first({ case: "runStarted", value: startedValue() }, 2)).toThrow(CorruptHistory);
  });

  it("an event that begins nothing", () => {
    expect(() => first(leased(0, 1))).toThrow(CorruptHistory);
    expect(() => first(intended())).toThrow(CorruptHistory);
  });

  it("a plan that does not compile", () => {
    const value = { ...startedValue(), plan: new Uint8Array(0) };
    expect(() => first({ case: "runStarted", value })).toThrow(/recorded plan to compile/);
  });

  it("nothing that begins a run or an operation of scope NAMESPACE", () => {
    expect(first({ case: "runStarted", value: startedValue() })).toMatchObject({
      kind: "run",
      eventCount: 1,
    });
    const ledger = first(declared({ namespace: "default" }, { leaseVersion: 0 }));
    expect(ledger).toMatchObject({
      kind: "ledger",
      eventCount: 1,
      operations: [{ status: OperationStatus.INTENDED }],
    });
  });
});
