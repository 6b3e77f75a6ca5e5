import { UpdateStatus } from "@pawl/proto/v1/run_service_pb.js";
import { json, openKernel, type Schema, UpdateRefused, update, workflow } from "@pawl/sdk";
import { everyCrashWindow, openTestEnvironment } from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { jsonPayload } from "../sdk/support/payloads.js";
import { recordedFailure } from "./support/run-code.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

/** Refuses what is no word. */
const word: Schema<string, string> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof value === "string" && /^\w+$/.test(value)
        ? { value }
        : { issues: [{ message: "Expected a word" }] },
  },
};

const changeAddress = update("change-address", {
  input: word,
  result: json<{ readonly shipsTo: string }>(),
});
const stop = update("stop");

/** Takes addresses until it is told to stop; refuses the one that it has. */
const order = workflow("order", { version: 1 }).run(async (ctx) => {
  let address = "Bonn";
  const changes: string[] = [];
  for (let turn = 1; turn <= 2; turn++) {
    const change = await ctx.waitUpdate(changeAddress, { key: `${turn}` });
    if (change.value === address) {
      await change.refuse(`It ships to ${address} already.`);
      continue;
    }
    const checked = await ctx.step(`check-${turn}`, () => change.value.toUpperCase());
    address = change.value;
    changes.push(checked);
    await change.accept({ shipsTo: checked });
  }
  const ended = await ctx.waitUpdate(stop);
  await ended.accept();
  return changes;
});

describe.each([
  ["warm", 64 * 1024 * 1024],
  ["cold", 0],
] as const)("an update of a function that is %s", (_name, warmBytesMax) => {
  test("gets what the function accepts it with, in order, or why it refuses", async () => {
    await each.kernel.worker({ serve: [order], warmBytesMax });
    const run = await each.kernel.start(order, undefined, { runId: "o" });
    const first = await run.update(changeAddress, "Kiel", { updateId: "u1", ...timeout });
    expect(first.shipsTo).toBe("KIEL");
    const refused: unknown = await run
      .update(changeAddress, "Kiel", { updateId: "u2", ...timeout })
      .catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(UpdateRefused);
    expect(String(refused)).toContain("It ships to Kiel already.");
    expect(await run.update(stop, undefined, timeout)).toBeUndefined();
    expect(await run.result(timeout)).toEqual(["KIEL"]);
    // The answers stay, whoever asks, and the same update again gets the same.
    expect(await run.update(changeAddress, "Kiel", { updateId: "u1" })).toEqual({
      shipsTo: "KIEL",
    });
    expect(await run.updateResult("u1")).toEqual({ shipsTo: "KIEL" });
    await expect(run.updateResult("u2")).rejects.toBeInstanceOf(UpdateRefused);
  });
});

describe("an update", () => {
  test("that its schema refuses never reaches the function, and its sender is told", async () => {
    await each.kernel.worker({ serve: [order] });
    const run = await each.kernel.start(order, undefined, { runId: "o" });
    await expect(run.update(changeAddress, "two words", timeout)).rejects.toThrow("word");
    // Somebody else checks nothing before it is sent.
    const unchecked = update("change-address", { input: json<string>(), result: json<string>() });
    const refusal = run.update(unchecked, "two words", { updateId: "bad", ...timeout });
    await expect(refusal).rejects.toThrow("Expected a word");
    expect(await run.update(changeAddress, "Kiel", timeout)).toEqual({ shipsTo: "KIEL" });
    await expect(run.updateResult("bad")).rejects.toBeInstanceOf(UpdateRefused);
  });

  test("that comes early is kept, in order, and outlives kernel and worker", async () => {
    const run = await each.kernel.start(order, undefined, { runId: "o" });
    const { runs } = each.kernel.api;
    for (const [at, to] of ["Kiel", "Mainz"].entries()) {
      const sent = {
        runId: "o",
        name: "change-address",
        updateId: `u${at}`,
        payload: jsonPayload(JSON.stringify(to)),
      };
      expect((await runs.updateRun(sent)).answer?.status).toBe(UpdateStatus.OPEN);
      const asked = run.updateResult(`u${at}`, { timeout: "10ms" });
      await expect(asked).rejects.toThrow("goes on");
    }
    await each.kernel.close();
    each.kernel = await openKernel({ dir: each.dir });
    await each.kernel.worker({ serve: [order] });
    const again = each.kernel.run("o");
    expect(await again.updateResult("u1", timeout)).toEqual({ shipsTo: "MAINZ" });
    expect(await again.updateResult("u0", timeout)).toEqual({ shipsTo: "KIEL" });
  });
});

test("an update that a wait took which had lost a race does not keep its function from returning", async () => {
  const timed = workflow("timed", { version: 1 }).run(async (ctx) => {
    const first = { stop: ctx.waitUpdate(stop), time: ctx.sleep("time", "1s") };
    const { winner } = await ctx.race("first", first);
    await ctx.waitSignal("go");
    return winner;
  });
  await using env = await openTestEnvironment();
  await env.worker({ serve: [timed] });
  const run = await env.kernel.start(timed, undefined, { runId: "t" });
  await env.advance("2s");
  const sent = { runId: "t", name: "stop", updateId: "late" };
  expect((await env.kernel.api.runs.updateRun(sent)).answer?.status).toBe(UpdateStatus.OPEN);
  await env.settle();
  await run.signal("go");
  expect(await run.result()).toBe("time");
  await expect(run.updateResult("late")).rejects.toMatchObject({ code: "PAWL_RUN_OVER" });
});

describe("a sender", () => {
  test("is told at once when the run ends before it is answered", async () => {
    const run = await each.kernel.start(order, undefined, { runId: "o" });
    const waiting = run.update(changeAddress, "Kiel", { updateId: "u", ...timeout });
    const ended = expect(waiting).rejects.toMatchObject({ code: "PAWL_RUN_OVER" });
    const { runs } = each.kernel.api;
    await expect
      .poll(async () => {
        const { answer } = await runs.getUpdate({ runId: "o", updateId: "u" });
        return answer?.status;
      })
      .toBe(UpdateStatus.OPEN);
    await run.terminate();
    await ended;
    const late = run.update(changeAddress, "Kiel");
    await expect(late).rejects.toMatchObject({ code: "PAWL_RUN_OVER" });
  });

  test("is refused by a paused run, which records nothing; one id with another payload is a conflict", async () => {
    const run = await each.kernel.start(order, undefined, { runId: "o" });
    await run.pause();
    const paused = run.update(changeAddress, "Kiel", { updateId: "u1" });
    await expect(paused).rejects.toMatchObject({ code: "PAWL_ILLEGAL_TRANSITION" });
    await expect(run.updateResult("u1")).rejects.toMatchObject({ code: "PAWL_UPDATE_NOT_FOUND" });
    await run.resume();
    await each.kernel.worker({ serve: [order] });
    await run.update(changeAddress, "Kiel", { updateId: "u1", ...timeout });
    const other = run.update(changeAddress, "Mainz", { updateId: "u1" });
    await expect(other).rejects.toMatchObject({ code: "PAWL_FINGERPRINT_CONFLICT" });
  });
});

describe("code that takes an update", () => {
  test("may wait for it with a timeout", async () => {
    const patient = workflow("patient", { version: 1 }).run(async (ctx) => {
      const asked = await ctx.waitUpdate(stop, { timeout: "1h" });
      if (asked.status === "timed-out") return "nobody";
      await asked.accept();
      return asked.from;
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [patient] });
    expect(await (await env.kernel.start(patient)).result()).toBe("nobody");
  });

  test("must answer it before it returns", async () => {
    const silent = workflow("silent", { version: 1 }).run(async (ctx) => {
      await ctx.waitUpdate(stop);
    });
    await each.kernel.worker({ serve: [silent] });
    const run = await each.kernel.start(silent);
    run.update(stop).catch(() => undefined);
    const failure = recordedFailure(await run.result(timeout).catch((thrown: unknown) => thrown));
    expect(failure.code).toBe("PAWL_OPEN_CALLS");
    expect(failure.message).toContain('update "stop"');
  });

  test("answers once: a second answer throws", async () => {
    const twice = workflow("twice", { version: 1 }).run(async (ctx) => {
      const asked = await ctx.waitUpdate(stop);
      await asked.accept();
      return asked.refuse("no").catch((thrown: Error & { code: string }) => thrown.code);
    });
    await each.kernel.worker({ serve: [twice] });
    const run = await each.kernel.start(twice);
    await run.update(stop, undefined, timeout);
    expect(await run.result(timeout)).toBe("PAWL_UPDATE_ANSWERED");
  });
});

test("updates are answered once, whatever dies at whatever point", {
  timeout: 240_000,
}, async () => {
  const report = await everyCrashWindow(async (env) => {
    await env.worker({ serve: [order] });
    const run = await env.kernel.start(order, undefined, { runId: "o-1" });
    const first = await run.update(changeAddress, "Kiel", { updateId: "u1" });
    await env.settle();
    const second = await run.update(changeAddress, "Kiel", { updateId: "u2" }).catch(String);
    await run.update(stop, undefined, { updateId: "u3" });
    return { first, second, again: await run.updateResult("u1"), result: await run.result() };
  });
  const names = report.points.map(({ when, name }) => `${when} ${name}`);
  expect(names).toContain("after $answer/0");
  expect(report.windows.filter(({ hasCrashed }) => !hasCrashed)).toEqual([]);
});

test("items of a map may each wait for an update of one name", async () => {
  const asked = update("asked", { input: json<number>(), result: json<number>() });
  const mapping = workflow("mapping", { version: 1 }).run(async (ctx) => {
    const answered = await ctx.map("m", [1, 2], { key: String }, async (item) => {
      const taken = await ctx.waitUpdate(asked);
      await taken.accept(taken.value * 10);
      return item;
    });
    return answered.map(({ status }) => status);
  });
  await each.kernel.worker({ serve: [mapping], warmBytesMax: 0 });
  const run = await each.kernel.start(mapping, undefined);
  expect(await run.update(asked, 1, timeout)).toBe(10);
  expect(await run.update(asked, 2, timeout)).toBe(20);
  expect(await run.result(timeout)).toEqual(["ok", "ok"]);
});
