import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { json, operation, RunPaused, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";
import { gate } from "./support/worker-bench.js";

const each = eachEmbedded();

test("a paused run offers nothing, and goes on when it is resumed", async () => {
  const fine = task("fine").run(() => "fine");
  const run = await each.kernel.start(fine, undefined, { runId: "r1" });
  expect(await run.pause({ reason: "wait" })).toMatchObject({ existing: false, version: 2 });
  expect(await run.pause()).toMatchObject({ existing: true, version: 2 });
  await each.kernel.worker({ serve: [fine] });
  const view = await run.get();
  expect(view).toMatchObject({
    status: RunStatus.PAUSED,
    pause: { reason: "wait", principal: "local" },
  });
  expect(view.why).toMatch(
    /^It was paused by local \d+ m?s ago \("wait"\), so nothing of it is offered until it is resumed\.$/,
  );
  expect(await run.resume({ expectedVersion: 2 })).toMatchObject({ existing: false, version: 3 });
  expect(await run.result({ timeout: "10s" })).toBe("fine");
  const types: string[] = [];
  for await (const event of run.watch()) types.push(event.type);
  expect(types).toEqual([
    "RunStarted",
    "RunPaused",
    "RunResumed",
    "TaskLeased",
    "TaskCompleted",
    "RunClosed",
  ]);
});

test("an attempt that comes to an effect while its run is paused gives its task back, and uses no attempt", async () => {
  const did: string[] = [];
  const pay = operation("pay", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    call: (op) => {
      did.push(`pay ${op.payload.cents}`);
      return { id: "p-1" };
    },
  });
  const isPaused = gate();
  const caught: unknown[] = [];
  const paying = task("paying").run(async (ctx) => {
    const cents = await ctx.step("price", async () => {
      did.push("price");
      await isPaused.promise;
      return 7;
    });
    try {
      return await ctx.perform(pay, { cents }, { target: "till" });
    } catch (error) {
      // Whatever the code makes of it, the attempt is over.
      caught.push(error);
      return { id: "swallowed" };
    }
  });
  await each.kernel.worker({ serve: [paying] });
  const run = await each.kernel.start(paying, undefined, { runId: "pay" });
  for await (const event of run.watch()) if (event.type === "TaskLeased") break;
  await expect.poll(() => did).toEqual(["price"]);
  await run.pause({ reason: "look first" });
  isPaused.open();
  await expect
    .poll(async () => (await run.task("main")).waitsFor)
    .toBe('Task "main" waits until its run is resumed.');
  expect(did).toEqual(["price"]);
  expect(caught).toEqual([expect.any(RunPaused)]);
  await run.resume();
  expect(await run.result({ timeout: "20s" })).toEqual({ id: "p-1" });
  expect(did).toEqual(["price", "pay 7"]);
  expect((await run.task("main")).attempt).toBe(1);
});

test("an effect of scope namespace belongs to no run, so a paused run's task performs it", async () => {
  const pay = operation("pay-invoice", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    call: () => ({ id: "p-1" }),
  });
  const isPaused = gate();
  const paying = task("paying").run(async (ctx) => {
    await ctx.step("look", () => "fine");
    await isPaused.promise;
    return await ctx.perform(pay, { cents: 7 }, { scope: "namespace", key: "i-1", target: "till" });
  });
  await each.kernel.worker({ serve: [paying] });
  const run = await each.kernel.start(paying, undefined, { runId: "pay" });
  // An offer that is not taken yet would be withdrawn by the pause.
  for await (const event of run.watch()) if (event.step === "look") break;
  await run.pause();
  isPaused.open();
  expect(await run.result({ timeout: "20s" })).toEqual({ id: "p-1" });
});
