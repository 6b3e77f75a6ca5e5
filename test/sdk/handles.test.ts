// Goal: what a handle reads and does for a program, over a real kernel.
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { createPawlClient, json, NeedsReview, operation, plan, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";

const each = eachEmbedded();

const one = task("one", { output: json<number>() });
const two = task("two", { output: json<number>() });
const both = plan("both", {
  tasks: { one: { task: one }, two: { task: two, needs: ["one"] } },
  output: "two",
});

test("the tasks of a run are read in plan order, also those in one state only, and one with its output", async () => {
  await each.kernel.worker({ serve: [one.run(() => 1)] });
  const run = await each.kernel.start(both, undefined, { runId: "r" });
  await expect
    .poll(async () => (await run.task("one")).status, { timeout: 20_000 })
    .toBe(TaskStatus.COMPLETED);
  const names: string[] = [];
  for await (const { name } of run.tasks()) names.push(name);
  expect(names).toEqual(["one", "two"]);
  const ready: string[] = [];
  for await (const { name } of run.tasks({ status: TaskStatus.READY })) ready.push(name);
  expect(ready).toEqual(["two"]);
  const { output } = await run.task("one");
  expect(output?.body.case === "data" && Buffer.from(output.body.value).toString()).toBe("1");
  await expect(run.task("three")).rejects.toMatchObject({
    name: "NotFound",
    code: "PAWL_TASK_NOT_FOUND",
  });
});

test("an effect in scope run is done once, whichever of its tasks comes first", async () => {
  let calls = 0;
  const announce = operation("announce", {
    payload: json<{ run: string }>(),
    result: json<number>(),
    sink: { kind: "idempotent", keyWindow: "1d" },
    call: () => ++calls,
  });
  const serve = [one, two].map((ref) =>
    ref.run((ctx) =>
      ctx.perform(announce, { run: ctx.runId }, { target: "all", scope: "run", key: "begun" }),
    ),
  );
  await each.kernel.worker({ serve });
  const run = await each.kernel.start(both, undefined, { runId: "r" });
  expect(await run.result({ timeout: "20s" })).toBe(1);
  expect(calls).toBe(1);
});

test("an effect without a worker that nobody knows about names its review, and goes on as it is resolved", async () => {
  let calls = 0;
  const pay = operation("pay", {
    payload: json<{ cents: number }>(),
    result: json<{ receipt: string }>(),
    callTimeout: "100ms",
    sink: { kind: "opaque", settle: "1ms" },
    call: () => {
      calls++;
      throw new Error("the line broke");
    },
  });
  const options = { scope: "namespace", key: "invoice-1", target: "till" } as const;
  const perform = () => each.kernel.perform(pay, { cents: 5 }, { ...options, timeout: "10s" });
  const thrown = await perform().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(NeedsReview);
  const { reviews } = each.kernel;
  const open: string[] = [];
  for await (const review of reviews.list()) {
    open.push(review.reviewId);
    expect(review).toMatchObject({ runId: "", task: "", subject: "operation" });
    const result = { receipt: "by hand" };
    await reviews.resolve(review, { choice: "done", result, reason: "it is in the books" });
  }
  expect(open).toEqual([Reflect.get(Object(thrown), "reviewId")]);
  expect(await perform()).toEqual({ receipt: "by hand" });
  expect(calls).toBe(1);
});

test("the generated client has every service over one connection, which is ended with its calls, and made anew when it is needed", async () => {
  const { url } = each.kernel.api;
  const api = createPawlClient({ url });
  await each.kernel.start(one, undefined, { runId: "r" });
  expect((await api.runs.getRun({ runId: "r" })).run?.workflow).toBe("one");
  expect((await api.reviews.listReviews({})).reviews).toEqual([]);
  expect((await api.admin.getServerInfo({})).version).not.toBe("");
  const messages = api.reviews.watchReviews({})[Symbol.asyncIterator]();
  expect((await messages.next()).value).toMatchObject({ changes: [] });
  api.close();
  await expect(messages.next()).rejects.toThrow(/closed/);
  expect((await api.runs.getRun({ runId: "r" })).run?.workflow).toBe("one");
  api.close();
});
