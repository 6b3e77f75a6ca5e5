import { toJson } from "@bufbuild/protobuf";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { Fatal, json, type PlanTask, plan, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";
import { gate } from "./support/worker-bench.js";

const each = eachEmbedded();

const find = task("find", { input: json<{ at: string }>() }).run(async (_ctx, { at }) => {
  if (at.startsWith("bad")) throw new Fatal(`nothing at ${at}`);
  return { found: at };
});
const merge = task("merge").run((ctx) => ({
  attempt: ctx.attempt,
  ended: ctx.needed.map((need) => `${need.task} ${need.status}`),
  late: ctx.need(find, "late").status,
  outputs: Object.keys(ctx.dependencies),
}));

test("a join at least of some merges what there is, over what failed, and waits for nobody else", async () => {
  const late = gate();
  const slow = task("slow").run(async () => {
    await late.promise;
    return "late";
  });
  const research = plan("research", {
    tasks: {
      one: { task: find, input: { at: "x" } },
      two: { task: find, input: { at: "bad-y" } },
      behind: { task: merge, needs: ["two"] },
      late: { task: slow },
      merge: {
        task: merge,
        needs: [
          "late",
          "one",
          { task: "behind", onFailure: "continue" },
          { task: "two", onFailure: "continue" },
        ],
        join: { atLeast: 3 },
      },
    },
    output: "merge",
  });
  await each.kernel.worker({ serve: [find, slow, merge] });
  const run = await each.kernel.start(research, undefined, { runId: "research-1" });
  await expect
    .poll(async () => (await run.task("merge")).status, { timeout: 10_000 })
    .toBe(TaskStatus.COMPLETED);
  late.open();
  expect(await run.result({ timeout: "10s" })).toEqual({
    attempt: 1,
    ended: ["one ok", "behind skipped", "two failed"],
    late: "missing",
    outputs: ["one"],
  });
});

test("the failure of a need is an error with its words, and asking for its output says what to ask instead", async () => {
  const tidy = task("tidy").run((ctx) => {
    const need = ctx.need(find, "work");
    let refusal = "";
    try {
      ctx.dependency(find, "work");
    } catch (error) {
      refusal = String(error);
    }
    return { error: need.status === "failed" ? need.error.message : need.status, refusal };
  });
  const careful = plan("careful", {
    tasks: {
      work: { task: find, input: { at: "bad-z" } },
      tidy: { task: tidy, needs: [{ task: "work", onFailure: "continue" }] },
    },
    output: "tidy",
  });
  await each.kernel.worker({ serve: [find, tidy] });
  expect(await each.kernel.execute(careful, undefined, { timeout: "10s" })).toEqual({
    error: "nothing at bad-z",
    refusal: expect.stringContaining("but it failed. Ask ctx.need"),
  });
});

test("a plan says how many count, and what failures mean", () => {
  const built = plan("p", {
    tasks: {
      a: { task: merge },
      b: { task: merge },
      any: { task: merge, needs: ["a", "b"], join: "any" },
      some: {
        task: merge,
        needs: [{ task: "b", onFailure: "fail" }, "a"],
        join: { atLeast: 2 },
      },
      all: { task: merge, needs: ["any", { task: "some", onFailure: "skip" }], join: "all" },
    },
  });
  const { tasks } = toJson(PlanSchema, built.message) as { tasks: { join: unknown }[] };
  expect(tasks.map(({ join }) => join)).toEqual([
    undefined,
    undefined,
    { atLeast: 1 },
    { atLeast: 2, rules: [{ task: "b", onFailure: "ON_NEED_FAILURE_FAIL" }] },
    { rules: [{ task: "some", onFailure: "ON_NEED_FAILURE_SKIP" }] },
  ]);
});

/** A plan as a caller without types would build it. */
const untyped = (parts: unknown): (() => unknown) => {
  const tasks = { a: { task: merge }, b: { task: merge, ...(parts as Partial<PlanTask>) } };
  return () => plan("p", { tasks } as Parameters<typeof plan>[1]);
};

test.each<[string, unknown, RegExp]>([
  ["more than it needs", { needs: ["a"], join: { atLeast: 2 } }, /1 to 1 of its 1 needs.+for 2/],
  ["none", { needs: ["a"], join: { atLeast: 0 } }, /asks for 0/],
  ["a half", { needs: ["a"], join: { atLeast: 0.5 } }, /asks for 0.5/],
  ["any of none", { join: "any" }, /1 to 0 of its 0 needs/],
  ["what is none", { needs: ["a"], join: "some" }, /asks for undefined/],
  [
    "a rule that is none",
    { needs: [{ task: "a", onFailure: "ignore" }] },
    /"skip", "fail" or "continue", but it is "ignore"/,
  ],
  ["an unknown need with a rule", { needs: [{ task: "z", onFailure: "skip" }] }, /"z" is none/],
  ["itself, with a rule", { needs: [{ task: "b", onFailure: "skip" }] }, /b needs b/],
  ["one twice", { needs: ["a", { task: "a", onFailure: "skip" }] }, /named twice/],
])("a join that asks for %s is refused", (_what, parts, message) => {
  expect(untyped(parts)).toThrow(message);
});
