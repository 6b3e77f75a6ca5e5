import { clone } from "@bufbuild/protobuf";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { json, operation, plan, Rejected, task, workflow } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";
import { gate } from "./support/worker-bench.js";

const each = eachEmbedded();

const write = task("write", { input: json<string>() }).run((_ctx, text) => text.toUpperCase());

const planOfTexts = (texts: Readonly<Record<string, string>>) =>
  plan("texts", {
    tasks: Object.fromEntries(
      Object.entries(texts).map(([name, input]) => [name, { task: write, input }]),
    ),
  });

test("a run is revised: what is the same is reused, what is changed is done anew, and both versions can be read", async () => {
  const open = gate();
  const wait = task("wait").run(() => open.promise);
  const first = plan("texts", {
    tasks: { a: { task: write, input: "a" }, b: { task: write, input: "b" }, hold: { task: wait } },
  });
  await each.kernel.worker({ serve: [write, wait] });
  const run = await each.kernel.start(first, undefined, { runId: "texts-1" });
  await expect
    .poll(async () => (await run.task("b")).status, { timeout: 30_000 })
    .toBe(TaskStatus.COMPLETED);
  await expect
    .poll(async () => (await run.task("a")).status, { timeout: 30_000 })
    .toBe(TaskStatus.COMPLETED);
  const second = plan("texts", {
    tasks: {
      a: { task: write, input: "a" },
      b: { task: write, input: "B!" },
      hold: { task: wait },
    },
  });
  const options = { expectedPlanVersion: 1, reason: "louder" };
  const wouldBe = await run.revisePlan(second, { ...options, dryRun: true });
  expect((await run.plan()).planVersion).toBe(1);
  const revised = await run.revisePlan(second, options);
  expect(revised).toEqual(wouldBe);
  expect(revised).toMatchObject({ existing: false, planVersion: 2 });
  expect(revised.tasks.map(({ name, becomes }) => `${name} ${becomes}`)).toEqual([
    "a reused",
    "b superseded",
    "hold kept",
    "b added",
  ]);
  expect(await run.revisePlan(second, options)).toMatchObject({ existing: true, planVersion: 2 });
  await expect(run.revisePlan(planOfTexts({ c: "c" }), options)).rejects.toMatchObject({
    code: "PAWL_STALE_VERSION",
  });
  await expect(run.revisePlan(planOfTexts({ c: "c" }), options)).rejects.toBeInstanceOf(Rejected);
  expect(
    (await run.planVersions()).map(({ planVersion, reason, isPresent }) => [
      planVersion,
      reason,
      isPresent,
    ]),
  ).toEqual([
    [1, "", false],
    [2, "louder", true],
  ]);
  expect((await run.plan(1)).plan).toEqual(first.message);
  open.open();
  await run.result({ timeout: "30s" });
});

test("a plan that was read can be changed and given back", async () => {
  const open = gate();
  const wait = task("wait").run(() => open.promise);
  await each.kernel.worker({ serve: [write, wait] });
  const held = plan("held", { tasks: { hold: { task: wait } } });
  const run = await each.kernel.start(held, undefined, { runId: "held-1" });
  const { plan: present, planVersion } = await run.plan();
  const changed = clone(PlanSchema, present);
  const [text] = planOfTexts({ more: "more" }).message.tasks;
  if (text === undefined) throw new Error("no task");
  changed.tasks.push(text);
  changed.output = "more";
  await run.revisePlan(changed, { expectedPlanVersion: planVersion, reason: "more" });
  open.open();
  expect(await run.result({ timeout: "30s" })).toBe("MORE");
});

test("a function revises the plan of its own run once, also when it runs again after its kernel was gone", async () => {
  const entered: number[] = [];
  const widen = workflow("widen", { version: 1, output: json<number>() }).run(async (ctx) => {
    entered.push(ctx.attempt);
    const made = plan("wider", {
      tasks: { main: { task: widen }, more: { task: write, input: "more" } },
      output: "main",
    });
    const { planVersion } = await ctx.revisePlan("wider", made, { reason: "there is more to do" });
    await ctx.waitSignal("go", { timeout: "1m" });
    return planVersion;
  });
  const options = { serve: [widen, write], warmBytesMax: 0 };
  await each.kernel.worker(options);
  const run = await each.kernel.start(widen, undefined, { runId: "widen-1" });
  await expect.poll(async () => (await run.planVersions()).length, { timeout: 30_000 }).toBe(2);
  await each.restart();
  await each.kernel.worker(options);
  const again = each.kernel.run("widen-1");
  await again.signal("go");
  expect(await again.result({ timeout: "30s" })).toBe(2);
  expect(entered.length).toBeGreaterThan(1);
  const versions = await again.planVersions();
  expect(versions.map(({ proposedBy }) => proposedBy)).toEqual(["", "main"]);
  expect((await again.task("more")).output?.body.value).toEqual(new TextEncoder().encode('"MORE"'));
});

test("an effect of a changed task waits until the same effect of the version before is settled", async () => {
  const calls: string[] = [];
  const begun = gate();
  const end = gate();
  const post = operation("post", {
    payload: json<string>(),
    result: json<string>(),
    sink: { kind: "idempotent", keyWindow: "1h" },
    callTimeout: "2s",
    call: async ({ payload, key }) => {
      calls.push(`${payload} ${key.split("/").at(-1)}`);
      if (calls.length === 1) {
        begun.open();
        await end.promise;
      }
      return payload;
    },
  });
  const send = task("send", { input: json<string>(), output: json<string>() }).run((ctx, text) =>
    ctx.perform(post, text, { target: "board" }),
  );
  const of = (text: string) =>
    plan("send", { tasks: { send: { task: send, input: text } }, output: "send" });
  await each.kernel.worker({ serve: [send] });
  const run = await each.kernel.start(of("old"), undefined, { runId: "send-1" });
  await begun.promise;
  await run.revisePlan(of("new"), { expectedPlanVersion: 1, reason: "a better text" });
  end.open();
  expect(await run.result({ timeout: "30s" })).toBe("new");
  expect(calls).toEqual(["old 1", "new 2"]);
});
