import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { intend } from "../support/commands.js";
import {
  declaration,
  declared,
  intended,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedNotSent,
  observedRefused,
  observedResult,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  runClosed,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, START_MS } from "../support/values.js";

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
const anyUuid = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
);
const operationKey = MAIL_KEY;

describe("the first IntendOperation", () => {
  it("declares the operation, and lets the caller proceed", () => {
    const { state } = held()
      .at(40)
      .when(intend(1, "i1", { seenThrough: 2 }), { principal: "ann" })
      .records(declared({ uuid: anyUuid }, { callByMs: START_MS + 1040, seenThrough: 2 }))
      .answering({ case: "proceed", operationKey, callMs: 1000 })
      .go();
    expect(state.operations[0]).toMatchObject({
      calls: 1,
      callOpen: true,
      callByMs: START_MS + 1040,
      firstIntendedAtMs: START_MS + 40,
      intendedAtMs: START_MS + 40,
    });
  });

  it("counts the key window of an idempotent sink from itself", () => {
    held()
      .at(40)
      .when(intend(1, "i1", { sinkKind: SinkKind.IDEMPOTENT, keyWindowMs: 60_000 }))
      .records(
        declared(
          { uuid: anyUuid, sinkKind: SinkKind.IDEMPOTENT, keyWindowEndsMs: START_MS + 60_040 },
          { callByMs: START_MS + 1040 },
        ),
      );
  });

  it("ignores a key window of other sinks", () => {
    held()
      .when(intend(1, "i1", { keyWindowMs: 60_000 }))
      .records(declared({ uuid: anyUuid }));
  });

  it.each([
    ["task", { scope: OperationScope.TASK }, "task/default/r1/1/only/mail/1"],
    ["task, unless said", { scope: OperationScope.UNSPECIFIED }, "task/default/r1/1/only/mail/1"],
    ["task with a key", { key: "a/b" }, "task/default/r1/1/only/mail/1/a%2Fb"],
    ["task with an empty key", { key: "" }, "task/default/r1/1/only/mail/1/"],
    ["run", { scope: OperationScope.RUN }, "run/default/r1/1/mail/1"],
  ])("has an identity in its %s", (_name, parts, key) => {
    const { decision } = held().when(intend(1, "i1", parts));
    expect(decision).toMatchObject({ events: [{ value: { declaration: { key } } }] });
  });

  it("of each of several tasks has a key of its own", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: {} })).given(leased(0, 1), leased(1, 1));
    const keys = [0, 1].map((task) => {
      const { decision } = scenario.when(intend(1, "i1", { lease: { task, leaseVersion: 1 } }));
      return decision.accepted ? decision.reply.intent?.operationKey : undefined;
    });
    expect(keys).toEqual(["task/default/r1/1/a/mail/1", "task/default/r1/1/b/mail/1"]);
  });

  it("of another attempt has the same key", () => {
    const { decision } = held()
      .given(leaseEnded(0, 1), leased(0, 2, { attempt: 1 }))
      .when(intend(2, "i9"));
    expect(decision).toMatchObject({ reply: { intent: { operationKey } } });
  });
});

describe("IntendOperation while a call is open", () => {
  const open = (): Scenario => held().given(declared());

  it("is the same call when id and lease are the same: it may proceed in what time is left", () => {
    open()
      .at(300)
      .when(intend(1, "i1"))
      .isExisting()
      .answering({ case: "proceed", operationKey, callMs: 700 });
    open()
      .at(5000)
      .when(intend(1, "i1"))
      .isExisting()
      .answering({ case: "proceed", operationKey, callMs: 0 });
  });

  it("is another call under another id: it waits until the first one can have no more effect", () => {
    open()
      .at(300)
      .when(intend(1, "i2"))
      .isExisting()
      .answering({ case: "wait", operationKey, notBeforeMs: 5700 });
    open()
      .at(5999)
      .when(intend(1, "i2"))
      .isExisting()
      .answering({ case: "wait", operationKey, notBeforeMs: 1 });
  });

  it.each([SinkKind.IDEMPOTENT, SinkKind.RECONCILABLE, SinkKind.OPAQUE])(
    "waits beyond call_by, whatever the sink can do (%i)",
    (sinkKind) => {
      const keyWindowEndsMs = sinkKind === SinkKind.IDEMPOTENT ? START_MS + 60_000 : 0;
      held()
        .given(declared({ sinkKind, keyWindowEndsMs }))
        .at(1500)
        .when(intend(1, "i2"))
        .isExisting()
        .answering({ case: "wait", operationKey, notBeforeMs: 4500 });
    },
  );

  it("is another call under another lease, although the id is the same", () => {
    const scenario = Scenario.started(planOf({ only: {}, other: {} })).given(
      leased(0, 1),
      leased(1, 1),
      leaseEnded(1, 1),
      leased(1, 2, { attempt: 1 }),
    );
    scenario.given(declared({ key: "run/default/r1/1/mail/1", scope: OperationScope.RUN }));
    scenario
      .when(intend(2, "i1", { scope: OperationScope.RUN, lease: { task: 1, leaseVersion: 2 } }))
      .isExisting()
      .answering({ case: "wait", operationKey: "run/default/r1/1/mail/1", notBeforeMs: 6000 });
  });
});

describe("IntendOperation while no call is open", () => {
  const again = intended({ intentId: "i2", callByMs: START_MS + 3000 });

  it("proceeds at once after one that never left", () => {
    const { state } = held()
      .given(declared(), observedNotSent())
      .at(2000)
      .when(intend(1, "i2"))
      .records(again)
      .answering({ case: "proceed", operationKey, callMs: 1000 })
      .go();
    expect(state.operations[0]).toMatchObject({
      calls: 2,
      earlierDoubt: false,
      firstIntendedAtMs: START_MS,
    });
  });

  it("proceeds at once after a person chose retry", () => {
    held()
      .given(declared(), observedUnknown(), reviewOpened(), reviewResolved(ReviewChoice.RETRY))
      .at(2000)
      .when(intend(1, "i2"))
      .records(again);
  });

  it.each([
    ["OBSERVED", [observedResult()]],
    ["REFUSED", [observedRefused()]],
    ["ABANDONED", [observedUnknown(), reviewOpened(), reviewResolved(ReviewChoice.ABANDON)]],
  ])("reuses what is recorded when it is %s", (_status, events) => {
    held()
      .given(declared(), ...events)
      .when(intend(1, "i2"))
      .isExisting()
      .answering({ case: "reuse", operationKey });
  });
});

describe("IntendOperation is refused", () => {
  const over = (): Scenario => held().given(leaseEnded(0, 1), runClosed(RunStatus.TERMINATED));

  it("without a lease in a run", () => {
    over()
      .when(intend(1, "i1", { lease: undefined }))
      .rejects("PAWL_INVALID_FIELD", {
        field: "lease",
        expected: "set in scope TASK and RUN",
        actual: "absent",
      });
  });

  it("for a task that the run has not, before a run that is over", () => {
    over()
      .when(intend(1, "i1", { lease: { task: "none", leaseVersion: 1 } }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });

  it("when the run is over, before a lost lease", () => {
    over().when(intend(1, "i1")).rejects("PAWL_RUN_OVER");
  });

  it("when the lease is lost, before another fingerprint", () => {
    held()
      .given(declared())
      .when(intend(2, "i1", { fingerprint: fingerprint(3) }))
      .rejects("PAWL_LEASE_LOST");
  });

  it.each([
    ["target", { target: "bob@example.org" }],
    ["payload", {}],
  ])("with another %s", (differs, parts) => {
    held()
      .given(declared())
      .when(intend(1, "i1", { fingerprint: fingerprint(3), ...parts }))
      .rejects("PAWL_FINGERPRINT_CONFLICT", {
        entity: "operation",
        id: MAIL_KEY,
        recorded: fingerprint(2),
        received: fingerprint(3),
        differs,
      });
  });

  it("with another fingerprint also after it is settled", () => {
    held()
      .given(declared(), observedResult())
      .when(intend(1, "i2", { fingerprint: fingerprint(3) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("never for how the sink is described: the first declaration counts", () => {
    const scenario = held().given(declared(), observedNotSent());
    scenario
      .when(intend(1, "i2", { callTimeoutMs: 9, sinkKind: SinkKind.IDEMPOTENT }))
      .records(intended({ intentId: "i2" }));
    expect(scenario.state.operations[0]?.declaration).toEqual(declaration());
  });
});
