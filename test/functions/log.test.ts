import { json, operation, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

let written: string[] = [];

beforeEach(() => {
  written = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written.push(String(text).trim().split(" ").slice(2).join(" "));
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

const undo = operation("undo", {
  payload: json<number>(),
  result: json<number>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => op.payload,
});

test("ctx.log is silent over recorded lines, also while a step beside them is made for the first time", async () => {
  let isFirst = true;
  const busy = workflow("busy", { version: 1 }).run(async (ctx) => {
    const slow = ctx.step("slow", () => (isFirst ? new Promise<number>(() => undefined) : 1));
    await ctx.waitSignal("go");
    ctx.log("goes on");
    await ctx.step("more", () => 1);
    ctx.log("has more");
    await ctx.waitSignal("end");
    return slow;
  });
  await using env = await openTestEnvironment();
  env.crashAt({ when: "after", what: "wait", name: "end" });
  await env.worker({ serve: [busy] });
  const run = await env.kernel.start(busy, undefined, { runId: "b" });
  await run.signal("go");
  while (!env.hasCrashed) await env.advance("1s");
  expect(written).toEqual(["goes on", "has more"]);
  isFirst = false;
  await run.signal("end");
  expect(await run.result()).toBe(1);
  expect(written).toEqual(["goes on", "has more"]);
});

test("ctx.log speaks beyond what is recorded, also where that is how to undo something", async () => {
  let isFirst = true;
  const careful = workflow("careful", { version: 1 }).run(async (ctx) => {
    await ctx.step("one", () => 1);
    ctx.onRollback(undo, 1, { target: "t" });
    await ctx.step("two", () => (isFirst ? new Promise<number>(() => undefined) : 2));
    ctx.log("is through");
    return "done";
  });
  await using env = await openTestEnvironment();
  await env.worker({ serve: [careful] });
  const run = await env.kernel.start(careful, undefined, { runId: "c" });
  await env.advance("1s");
  isFirst = false;
  await env.crash();
  expect(await run.result()).toBe("done");
  expect(written).toEqual(["is through"]);
});
