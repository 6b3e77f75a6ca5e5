import type { JsonValue } from "@bufbuild/protobuf";
import { Fatal, json, operation, task, workflow } from "@pawl/sdk";
import { openTestEnvironment, type TestEnvironment } from "@pawl/sdk/testing";
import { expect, test } from "vitest";

const double = task("double", { input: json<number>() }).run((_ctx, n) => n * 2);

const release = operation("release", {
  payload: json<string>(),
  result: json<string>(),
  sink: { kind: "reconcilable", settle: "0s" },
  call: ({ payload }) => payload,
  lookup: () => "absent" as const,
});

/** The tasks that ended, as the history of all incarnations names them. */
async function ended(env: TestEnvironment, runId: string): Promise<(JsonValue | undefined)[]> {
  const history = await env.history(runId);
  if (typeof history === "string") throw new Error("expected events");
  return (history as { readonly type?: string; readonly task?: string }[])
    .filter(({ type }) => type === "TaskCompleted" || type === "TaskFailed")
    .map(({ task: name }) => name);
}

test("called tasks of an earlier incarnation keep their names in the history", async () => {
  await using env = await openTestEnvironment();
  const twice = workflow("twice", { version: 1, input: json<number>() }).run(async (ctx, n) => {
    const more = await ctx.call(double, n, { key: `of ${n}` });
    return more < 4 ? ctx.continueAsNew(more) : more;
  });
  await env.worker({ serve: [twice, double] });
  const run = await env.kernel.start(twice, 1, { runId: "c" });
  expect(await run.result()).toBe(4);
  const names = await ended(env, "c");
  expect(names).toEqual(["double/of 1", "double/of 2", "main"]);
});

test("rollbacks of an earlier incarnation keep their names in the history", async () => {
  await using env = await openTestEnvironment();
  let tries = 0;
  const trip = workflow("trip", { version: 1 }).run(async (ctx) => {
    ctx.onRollback(release, "1a", { target: "airline" });
    await ctx.step("book", () => "booked");
    if (await ctx.step("fails", () => ++tries === 1)) throw new Fatal("no hotel");
    return "home";
  });
  await env.worker({ serve: [trip] });
  const first = await env.kernel.start(trip, undefined, { runId: "t" });
  await expect(first.result()).rejects.toThrow("no hotel");
  await env.settle();
  const again = await env.kernel.start(trip, undefined, {
    runId: "t",
    onExisting: "restart_closed",
    requestId: "again",
  });
  expect(await again.result()).toBe("home");
  expect(await ended(env, "t")).toContain("$rollback/main");
});
