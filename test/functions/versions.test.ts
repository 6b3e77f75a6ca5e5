import { json, operation, type Schema, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { type Code, reviewOf, startOld } from "./support/change-code.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;
const timeoutOf = { timeout: 60_000, interval: 20 } as const;
let sent: string[] = [];
beforeEach(() => {
  sent = [];
});

const mail = operation("mail", {
  payload: json<string>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => {
    sent.push(op.payload);
    return op.payload;
  },
});

/** A schema that takes its time. */
const slowly: Schema<number, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: async (value) => {
      for (let turn = 0; turn < 20; turn++) await new Promise((go) => setImmediate(go));
      return { value: Number(value) };
    },
  },
};

/** The code of yesterday: draws, waits, sends. */
const yesterday: Code = async (ctx) => {
  const drawn = await ctx.step("draw", () => "draw");
  await ctx.waitSignal("go");
  await ctx.waitSignal("then");
  return ctx.perform(mail, drawn, { target: "post" });
};

/** The code of today: what stands before the waits is checked first, and what is sent says so. */
const today: Code = async (ctx) => {
  const isChecked = await ctx.version("checked");
  const checked = isChecked ? await ctx.step("check", () => "checked ") : "";
  const drawn = await ctx.step("draw", () => "draw");
  await ctx.waitSignal("go");
  await ctx.waitSignal("then");
  const isLoud = await ctx.version("loud");
  const text = `${checked}${drawn}`;
  return ctx.perform(mail, isLoud ? text.toUpperCase() : text, { target: "post" });
};

describe("ctx.version", () => {
  test("gives a run that passed the place the old lines, and one that has not the new ones", async () => {
    const { run, deploy } = await startOld(each.kernel, yesterday);
    await deploy(today);
    await run.signal("go");
    await run.signal("then");
    expect(await run.result(timeout)).toBe("DRAW");
    expect(sent).toEqual(["DRAW"]);
  });

  test("gives a new run the new lines, warm and cold", async () => {
    const { run, deploy } = await startOld(each.kernel, today);
    await run.signal("go");
    await deploy(today);
    await run.signal("then");
    expect(await run.result(timeout)).toBe("CHECKED DRAW");
  });

  test("answers the same for good, once it has answered", async () => {
    const answers: boolean[] = [];
    const watched: Code = async (ctx) => {
      answers.push(await ctx.version("checked"), await ctx.version("checked"));
      return today(ctx);
    };
    const { run, deploy } = await startOld(each.kernel, yesterday);
    await deploy(watched);
    await run.signal("go");
    await expect.poll(async () => (await run.get()).why, timeoutOf).toContain('"then"');
    await deploy(watched);
    await run.signal("then");
    expect(await run.result(timeout)).toBe("DRAW");
    expect(new Set(answers)).toEqual(new Set([false]));
    expect(answers.length).toBeGreaterThanOrEqual(4);
  });

  test("decides anew for each key", async () => {
    const loop =
      (isPatched: boolean): Code =>
      async (ctx) => {
        const rounds: string[] = [];
        for (const key of ["1", "2"]) {
          const isNew = isPatched && (await ctx.version("round", { key }));
          rounds.push(isNew ? "new" : await ctx.step("old", { key }, () => "old"));
          await ctx.waitSignal(key === "1" ? "go" : "then");
        }
        return rounds.join(" ");
      };
    const { run, deploy } = await startOld(each.kernel, loop(false));
    await deploy(loop(true));
    await run.signal("go");
    await run.signal("then");
    expect(await run.result(timeout)).toBe("old new");
  });
});

test("ctx.version gives the new lines right after how to undo something is said again", async () => {
  const release = operation("release", {
    payload: slowly,
    result: json<number>(),
    sink: { kind: "idempotent", keyWindow: "1d" },
    call: (op) => op.payload,
  });
  let isPatched = false;
  const asked: boolean[] = [];
  const patched = workflow("patched", { version: 1 }).run(async (ctx) => {
    ctx.onRollback(release, 1, { target: "t" });
    if (isPatched) asked.push(await ctx.version("new"));
    await ctx.step("two", () => (isPatched ? 2 : new Promise<number>(() => undefined)));
    return "done";
  });
  await using env = await openTestEnvironment();
  await env.worker({ serve: [patched] });
  const run = await env.kernel.start(patched, undefined, { runId: "p" });
  await expect
    .poll(async () => JSON.stringify(await env.history("p")), timeoutOf)
    .toContain("$rollback/release");
  isPatched = true;
  await env.crash();
  expect(await run.result()).toBe("done");
  expect(asked).toEqual([true]);
});

describe("a version", () => {
  test("that is removed while a run has the old lines stops that run, and says so", async () => {
    const { run, deploy } = await startOld(each.kernel, yesterday);
    await deploy(today);
    await run.signal("go");
    await expect.poll(async () => (await run.get()).why, timeoutOf).toContain('"then"');
    const tomorrow: Code = async (ctx) => {
      const drawn = await ctx.step("draw", () => "draw");
      await ctx.waitSignal("go");
      await ctx.waitSignal("then");
      return ctx.perform(mail, `CHECKED ${drawn}`, { target: "post" });
    };
    await deploy(tomorrow);
    await run.signal("then");
    const review = await reviewOf(each.kernel);
    expect(review.known).toContain('ctx.version for "checked"');
    expect(sent).toEqual([]);
    await deploy(today);
    await each.kernel.reviews.resolve(review, { choice: "retry", reason: "too early" });
    expect(await run.result(timeout)).toBe("DRAW");
  });

  test("that is removed when every run has the new lines is not missed", async () => {
    const { run, deploy } = await startOld(each.kernel, today);
    await deploy(async (ctx) => {
      const checked = await ctx.step("check", () => "checked ");
      const drawn = await ctx.step("draw", () => "draw");
      await ctx.waitSignal("go");
      await ctx.waitSignal("then");
      return ctx.perform(mail, `${checked}${drawn}`.toUpperCase(), { target: "post" });
    });
    await run.signal("go");
    await run.signal("then");
    expect(await run.result(timeout)).toBe("CHECKED DRAW");
  });

  test("asked for inside of a step is refused", async () => {
    const inside = workflow("inside", { version: 1, retry: { attempts: 1 } }).run(async (ctx) => {
      await ctx.step("s", () => ctx.version("v"));
      return null;
    });
    await each.kernel.worker({ serve: [inside] });
    await expect(each.kernel.execute(inside, undefined, timeout)).rejects.toThrow();
  });
});
