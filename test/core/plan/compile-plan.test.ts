import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { encodePlan, type PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import { limits } from "@pawl/server/core/limits.js";
import { compilePlan, refuseCall } from "@pawl/server/core/plan/compile-plan.js";
import type { TaskSpec } from "@pawl/server/core/plan/task-spec.js";
import { describe, expect, it } from "vitest";
import { durationOf, encodeTasks, planOf, planTask, type TaskParts } from "../support/plans.js";
import { payload } from "../support/values.js";

const DAY_MS = 86_400_000;

function compileOne(parts: TaskParts): TaskSpec {
  const [spec] = planOf({ only: parts }).tasks;
  if (spec === undefined) throw new Error("no task");
  return spec;
}

/** Field and actual value of the refusal; undefined when the plan is taken. */
function refusalOf(tasks: readonly PlanTaskShape[], output = ""): string | undefined {
  return refusalOfBytes(encodeTasks(tasks, output));
}

function refusalOfBytes(bytes: Uint8Array): string | undefined {
  const result = compilePlan(bytes);
  if (result.ok) {
    return undefined;
  }
  const { detail, reason, message } = result.rejection;
  expect(reason).toBe("PAWL_INVALID_FIELD");
  expect(message).toMatch(
    /^Expected .+ to be .+, but it is .+\. Next: correct it and send the request again\.$/,
  );
  return detail?.case === "invalidField"
    ? `${detail.value.field}: ${detail.value.actual}`
    : "another detail";
}

const one = (parts: TaskParts): readonly PlanTaskShape[] => [planTask("a", parts)];

describe("a compiled plan", () => {
  it("has every default filled in", () => {
    expect(compileOne({})).toEqual({
      number: 0,
      name: "only",
      kind: "work",
      queue: "work",
      needs: [],
      dependents: [],
      input: undefined,
      priority: 0,
      retry: {
        attemptsMax: 5,
        initialMs: 1000,
        coefficient: 2,
        intervalMsMax: 100_000,
        nonRetryable: new Set(),
        jitter: 0.2,
        asksWhenExhausted: false,
        workerLossesMax: 5,
      },
      scheduleToStartMs: undefined,
      startToCloseMs: undefined,
      scheduleToCloseMs: undefined,
      leaseMs: 30_000,
      cancelGraceMs: 10_000,
    });
  });

  it("keeps what is said", () => {
    const spec = compileOne({
      kind: "mailer",
      queue: "slow",
      input: payload(1),
      priority: 9,
      retry: {
        attemptsMax: 7,
        initialMs: 20,
        backoffCoefficient: 1.5,
        intervalMsMax: 90,
        nonRetryable: ["X"],
        jitter: 0,
      },
      scheduleToStartMs: 1,
      startToCloseMs: 2,
      scheduleToCloseMs: 3,
      leaseMs: 1000,
      cancelGraceMs: 0,
    });
    expect(spec).toMatchObject({
      kind: "mailer",
      queue: "slow",
      input: payload(1),
      priority: 9,
      retry: {
        attemptsMax: 7,
        initialMs: 20,
        coefficient: 1.5,
        intervalMsMax: 90,
        nonRetryable: new Set(["X"]),
        jitter: 0,
      },
      scheduleToStartMs: 1,
      startToCloseMs: 2,
      scheduleToCloseMs: 3,
      leaseMs: 1000,
      cancelGraceMs: 0,
    });
  });

  it("fills in a retry policy that says little, and cuts the longest wait at 30 days", () => {
    expect(compileOne({ retry: {} }).retry).toEqual(compileOne({}).retry);
    expect(compileOne({ retry: { initialMs: 50 } }).retry.intervalMsMax).toBe(5000);
    expect(compileOne({ retry: { initialMs: DAY_MS } }).retry.intervalMsMax).toBe(30 * DAY_MS);
  });
});

describe("a compiled plan as a whole", () => {
  it("links tasks both ways, in the order of the plan", () => {
    const { tasks, byName, output } = planOf(
      { end: { needs: ["b", "a"] }, a: {}, b: { needs: ["a"] } },
      "end",
    );
    expect(tasks.map(({ needs }) => needs)).toEqual([[2, 1], [], [1]]);
    expect(tasks.map(({ dependents }) => dependents)).toEqual([[], [0, 2], [0]]);
    expect([...byName]).toEqual([
      ["end", 0],
      ["a", 1],
      ["b", 2],
    ]);
    expect(output).toBe(0);
  });

  it("has no output when none is named, and keeps the bytes as received", () => {
    const bytes = encodeTasks(one({}));
    const result = compilePlan(bytes);
    expect(result).toMatchObject({ ok: true, plan: { output: undefined } });
    expect(result.ok && result.plan.bytes).toBe(bytes);
  });

  it("rounds lengths up to whole ms, so that nothing fires early", () => {
    expect(compileOne({ startToCloseMs: 1.000001 }).startToCloseMs).toBe(2);
  });

  it("takes the largest it may", () => {
    const many = Array.from({ length: limits.planTasksMax }, (_, number) => planTask(`t${number}`));
    expect(refusalOf(many)).toBeUndefined();
    const ten = 315_360_000_000;
    expect(
      refusalOf(one({ scheduleToStartMs: ten, startToCloseMs: ten, scheduleToCloseMs: ten })),
    ).toBeUndefined();
    const policy = {
      attemptsMax: 10_000,
      initialMs: DAY_MS,
      backoffCoefficient: 100,
      intervalMsMax: 30 * DAY_MS,
      jitter: 1,
    };
    expect(
      refusalOf(one({ leaseMs: DAY_MS, cancelGraceMs: DAY_MS, retry: policy })),
    ).toBeUndefined();
  });
});

describe("a plan is refused for its", () => {
  it.each<[string, Uint8Array, string]>([
    ["size", new Uint8Array(limits.planBytesMax + 1), "plan: 524289 bytes"],
    ["lack of tasks", encodeTasks([]), "plan.tasks: 0"],
    [
      "number of tasks",
      encodeTasks(
        Array.from({ length: limits.planTasksMax + 1 }, (_, number) => planTask(`t${number}`)),
      ),
      "plan.tasks: 5001",
    ],
  ])("%s", (_name, bytes, expected) => {
    expect(refusalOfBytes(bytes)).toBe(expected);
  });

  it("form", () => {
    expect(refusalOfBytes(new Uint8Array([0x0a, 0x7f]))).toMatch(/^plan: /);
  });

  it.each<[string, readonly PlanTaskShape[], string]>([
    ["empty name", [planTask("")], "plan.tasks[0].name: empty"],
    ["long name", [planTask("é".repeat(101))], "plan.tasks[0].name: 202 bytes"],
    ["name with NUL", [planTask("a\0b")], "plan.tasks[0].name: a text with NUL at character 1"],
    [
      "name a second time",
      [planTask("a"), planTask("b"), planTask("a")],
      'plan.tasks[2].name: "a" a second time',
    ],
    ["empty kind", [planTask("a", { kind: "" })], "plan.tasks[0].kind: empty"],
    ["long queue", [planTask("a", { queue: "q".repeat(201) })], "plan.tasks[0].queue: 201 bytes"],
    ["priority", one({ priority: 10 }), "plan.tasks[0].priority: 10"],
  ])("%s", (_name, tasks, expected) => {
    expect(refusalOf(tasks)).toBe(expected);
  });

  it.each<[string, TaskParts["retry"], string]>([
    ["attempts", { attemptsMax: 10_001 }, "attempts_max: 10001"],
    ["coefficient below 1", { backoffCoefficient: 0.5 }, "backoff_coefficient: 0.5"],
    ["coefficient above 100", { backoffCoefficient: 101 }, "backoff_coefficient: 101"],
    [
      "coefficient that is no number",
      { backoffCoefficient: Number.NaN },
      "backoff_coefficient: NaN",
    ],
    [
      "endless coefficient",
      { backoffCoefficient: Number.POSITIVE_INFINITY },
      "backoff_coefficient: Infinity",
    ],
    ["jitter below 0", { jitter: -0.1 }, "jitter: -0.1"],
    ["jitter above 1", { jitter: 1.1 }, "jitter: 1.1"],
    ["jitter that is no number", { jitter: Number.NaN }, "jitter: NaN"],
    ["negative first wait", { initialMs: -1 }, "initial_interval: -1 ms"],
    ["long first wait", { initialMs: DAY_MS + 1 }, "initial_interval: 86400001 ms"],
    ["negative longest wait", { intervalMsMax: -1 }, "interval_max: -1 ms"],
    ["long longest wait", { intervalMsMax: 30 * DAY_MS + 1 }, "interval_max: 2592000001 ms"],
    ["many words", { nonRetryable: Array.from({ length: 101 }, () => "X") }, "non_retryable: 101"],
  ])("retry policy: %s", (_name, retry, expected) => {
    expect(refusalOf(one({ retry: retry ?? {} }))).toBe(`plan.tasks[0].retry.${expected}`);
  });
});

describe("a plan is refused for a length of time that is", () => {
  it.each<[string, TaskParts, string]>([
    ["negative", { scheduleToStartMs: -1 }, "timeouts.schedule_to_start: -1 ms"],
    [
      "beyond 10 years",
      { startToCloseMs: 315_360_000_001 },
      "timeouts.start_to_close: 315360000001 ms",
    ],
    [
      "beyond 10 years in all",
      { scheduleToCloseMs: 315_360_000_001 },
      "timeouts.schedule_to_close: 315360000001 ms",
    ],
    ["a lease below 1 s", { leaseMs: 999 }, "timeouts.lease: 999 ms"],
    ["a lease of 0", { leaseMs: 0 }, "timeouts.lease: 0 ms"],
    ["a lease beyond a day", { leaseMs: DAY_MS + 1 }, "timeouts.lease: 86400001 ms"],
    ["a grace beyond a day", { cancelGraceMs: DAY_MS + 1 }, "cancel_grace: 86400001 ms"],
    ["a negative grace", { cancelGraceMs: -1 }, "cancel_grace: -1 ms"],
  ])("%s", (_name, parts, expected) => {
    expect(refusalOf(one(parts))).toBe(`plan.tasks[0].${expected}`);
  });

  it("too long for any number", () => {
    const task = planTask("a");
    const endless = { seconds: 2n ** 63n - 1n, nanos: 0 };
    expect(refusalOf([{ ...task, cancelGrace: endless }])).toMatch(
      /^plan\.tasks\[0\]\.cancel_grace: 9\.22/,
    );
    expect(refusalOf([{ ...task, cancelGrace: durationOf(5) }])).toBeUndefined();
  });
});

describe("a plan is refused for its graph:", () => {
  it.each<[string, readonly PlanTaskShape[], string, string]>([
    [
      "a need that is no task",
      [planTask("a", { needs: ["b"] })],
      "",
      'plan.tasks[0].needs[0]: "b"',
    ],
    [
      "a need twice",
      [planTask("a"), planTask("b", { needs: ["a", "a"] })],
      "",
      "plan.tasks[1].needs: a task twice",
    ],
    ["an output that is no task", [planTask("a")], "b", 'plan.output: "b"'],
    [
      "a task that needs itself",
      [planTask("a", { needs: ["a"] })],
      "",
      "plan.tasks: the cycle a → a",
    ],
    [
      "a cycle behind a sound beginning",
      [
        planTask("start"),
        planTask("a", { needs: ["start", "c"] }),
        planTask("b", { needs: ["a"] }),
        planTask("c", { needs: ["b"] }),
        planTask("end", { needs: ["c"] }),
      ],
      "",
      "plan.tasks: the cycle a → b → c → a",
    ],
  ])("%s", (_name, tasks, output, expected) => {
    expect(refusalOf(tasks, output)).toBe(expected);
  });

  it("takes a chain of 5,000 tasks in the worst order", () => {
    const chain = Array.from({ length: 5000 }, (_, number) =>
      planTask(`t${number}`, number === 4999 ? {} : { needs: [`t${number + 1}`] }),
    );
    expect(refusalOf(chain)).toBeUndefined();
    const last = planTask("t4999", { needs: ["t0"] });
    expect(refusalOf([...chain.slice(0, -1), last])).toMatch(
      /^plan\.tasks: the cycle t\d+ → .* → t\d+$/,
    );
  });
});

describe("of several faults in a plan, the first of its order is named", () => {
  const overlong = { priority: 10, retry: { jitter: 2 }, leaseMs: 1 };

  it.each<[string, readonly PlanTaskShape[], string, string]>([
    [
      "names before needs",
      [planTask("a", { needs: ["none"] }), planTask("a")],
      "",
      "plan.tasks[1].name",
    ],
    [
      "needs of a task before its values",
      [planTask("a", { needs: ["none"], ...overlong })],
      "",
      "plan.tasks[0].needs[0]",
    ],
    [
      "an earlier task before a later one",
      [planTask("a", overlong), planTask("b", { needs: ["none"] })],
      "",
      "plan.tasks[0].priority",
    ],
    ["tasks before the output", [planTask("a", overlong)], "none", "plan.tasks[0].priority"],
    ["the output before a cycle", [planTask("a", { needs: ["a"] })], "none", "plan.output"],
  ])("%s", (_name, tasks, output, expected) => {
    expect(refusalOf(tasks, output)?.split(":")[0]).toBe(expected);
  });

  it("and bytes that are no plan are not looked into", () => {
    expect(refusalOfBytes(encodePlan({ tasks: [], output: "none" }))).toBe("plan.tasks: 0");
  });
});

describe("a join", () => {
  const needs = ["a", "b"];
  const joined = (join: TaskParts["join"]): readonly PlanTaskShape[] => [
    planTask("a"),
    planTask("b"),
    planTask("c", { needs, ...(join === undefined ? {} : { join }) }),
  ];

  it.each<[string, TaskParts["join"]]>([
    ["absent", undefined],
    ["empty", {}],
    ["of all by number", { atLeast: 2 }],
    ["that says what holds anyway", { rules: { a: OnNeedFailure.SKIP, b: 0 } }],
  ])("%s leaves the plan a plain one", (_name, join) => {
    const result = compilePlan(encodeTasks(joined(join)));
    if (!result.ok) throw new Error(result.rejection.message);
    expect(result.plan.tasks[2]?.join).toBeUndefined();
    expect(result.plan.ranks).toBeUndefined();
  });

  it("says how many must count, and what failures mean", () => {
    const join = { atLeast: 1, rules: { b: OnNeedFailure.CONTINUE } };
    const result = compilePlan(encodeTasks(joined(join).toReversed()));
    if (!result.ok) throw new Error(result.rejection.message);
    expect(result.plan.tasks[0]?.join).toEqual({
      atLeast: 1,
      rules: new Map([[1, OnNeedFailure.CONTINUE]]),
    });
    const { ranks } = result.plan;
    expect(ranks?.[0]).toBe(2);
    expect([...(ranks ?? [])].sort()).toEqual([0, 1, 2]);
  });

  it.each<[string, TaskParts["join"], string]>([
    ["more than there are", { atLeast: 3 }, "plan.tasks[2].join.at_least: 3"],
    ["a rule for another task", { rules: { c: 1 } }, 'plan.tasks[2].join.rules[0].task: "c"'],
    ["a rule for nothing", { rules: { x: 1 } }, 'plan.tasks[2].join.rules[0].task: "x"'],
  ])("is refused with %s", (_name, join, refusal) => {
    expect(refusalOf(joined(join))).toBe(refusal);
  });

  it("is refused with a rule that is none", () => {
    const bytes = encodeTasks(joined({ rules: { a: OnNeedFailure.CONTINUE } }));
    const at = bytes.findLastIndex(
      (byte, index) => byte === 16 && bytes[index + 1] === OnNeedFailure.CONTINUE,
    );
    bytes[at + 1] = 9;
    expect(refusalOfBytes(bytes)).toBe("plan.tasks[2].join.rules[0].on_failure: 9");
  });

  it("is refused with two rules for one need, and where nothing is needed", () => {
    const rule = { task: "a", onFailure: OnNeedFailure.FAIL };
    const twice = { ...planTask("c", { needs }), join: { atLeast: 0, rules: [rule, rule] } };
    expect(refusalOf([planTask("a"), planTask("b"), twice])).toBe(
      'plan.tasks[2].join.rules[1].task: "a" a second time',
    );
    expect(refusalOf(one({ join: { atLeast: 1 } }))).toBe("plan.tasks[0].join.at_least: 1");
  });

  it("has no place in a call", () => {
    expect(refuseCall(planTask("x", { join: {} }), "call")?.message).toContain("call.join");
  });
});
