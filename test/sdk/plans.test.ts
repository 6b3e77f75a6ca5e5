import { toJson } from "@bufbuild/protobuf";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { json, type PlanTask, plan, task } from "@pawl/sdk";
import { expect, test } from "vitest";

const search = task("search", {
  input: json<{ q: string }>(),
  output: json<string[]>(),
  retry: {
    attempts: 7,
    initial: "2s",
    max: "1m",
    coefficient: 3,
    jitter: 0,
    nonRetryable: ["Bad"],
  },
  timeouts: { startToClose: "5m", lease: "10s" },
  queue: "slow",
  priority: 3,
  cancelGrace: "1s",
});
const merge = task("merge", { output: json<{ n: number }>() });

test("a plan is data: the tasks, what they need, their own inputs, and whose output is the run's", () => {
  const research = plan("research", {
    tasks: {
      left: { task: search, input: { q: "a" } },
      right: { task: search, input: { q: "b" }, retry: { attempts: 1 }, queue: "fast" },
      merge: { task: merge, needs: ["left", "right"] },
    },
    output: "merge",
  });
  expect(toJson(PlanSchema, research.message)).toEqual({
    output: "merge",
    tasks: [
      {
        name: "left",
        kind: "search",
        queue: "slow",
        priority: 3,
        cancelGrace: "1s",
        input: {
          contentType: "application/json",
          data: Buffer.from('{"q":"a"}').toString("base64"),
        },
        retry: {
          attemptsMax: 7,
          initialInterval: "2s",
          intervalMax: "60s",
          backoffCoefficient: 3,
          jitter: 0,
          nonRetryable: ["Bad"],
        },
        timeouts: { startToClose: "300s", lease: "10s" },
      },
      {
        name: "right",
        kind: "search",
        queue: "fast",
        priority: 3,
        cancelGrace: "1s",
        input: {
          contentType: "application/json",
          data: Buffer.from('{"q":"b"}').toString("base64"),
        },
        retry: { attemptsMax: 1 },
        timeouts: { startToClose: "300s", lease: "10s" },
      },
      { name: "merge", kind: "merge", needs: ["left", "right"] },
    ],
  });
});

/** A plan as a caller without types would build it. */
function untyped(tasks: Record<string, PlanTask>, output?: string): () => unknown {
  return () =>
    plan("p", { tasks, ...(output === undefined ? {} : { output }) } as Parameters<typeof plan>[1]);
}

test.each<[string, () => unknown, RegExp]>([
  ["no task", untyped({}), /1 to 5000 tasks/],
  ["an unknown need", untyped({ a: { task: merge, needs: ["b"] } }), /"b" is none/],
  [
    "a need named twice",
    untyped({ a: { task: merge }, b: { task: merge, needs: ["a", "a"] } }),
    /named twice/,
  ],
  ["an unknown output", untyped({ a: { task: merge } }, "b"), /"b" is not/],
  ["a task that needs itself", untyped({ a: { task: merge, needs: ["a"] } }), /a needs a/],
  [
    "a cycle",
    untyped({
      a: { task: merge, needs: ["c"] },
      b: { task: merge, needs: ["a"] },
      c: { task: merge, needs: ["b"] },
    }),
    /a needs c needs b needs a/,
  ],
  ["an empty name", untyped({ "": { task: merge } }), /1 to 200 bytes, but it is empty/],
  ["an ill-formed name", untyped({ "\ud800": { task: merge } }), /surrogate/],
  ["a bad priority", untyped({ a: { task: merge, priority: 10 } }), /from 0 to 9, but it is 10/],
  [
    "a fraction of attempts",
    untyped({ a: { task: merge, retry: { attempts: 1.5 } } }),
    /whole number/,
  ],
  [
    "NaN attempts",
    untyped({ a: { task: merge, retry: { attempts: Number.NaN } } }),
    /whole number/,
  ],
  [
    "an input that is not JSON",
    untyped({ a: { task: merge, input: { at: new Date() } } }),
    /instance of Date/,
  ],
])("%s is refused", (_what, build, message) => {
  expect(build).toThrow(message);
});

test("a long chain is no cycle and needs no stack", () => {
  const tasks: Record<string, PlanTask> = {};
  for (let number = 0; number < 5_000; number++) {
    tasks[`t${number}`] =
      number === 0 ? { task: merge } : { task: merge, needs: [`t${number - 1}`] };
  }
  expect(untyped(tasks)).not.toThrow();
});
