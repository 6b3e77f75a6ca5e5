import { json, task, type WorkflowContext, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { failureOf } from "./support/run-code.js";

const each = eachEmbedded();

const CANCELLED = 10; // TaskStatus of proto/pawl/v1/run.proto

const never = task("never", { input: json<number>() }).run(async (ctx) => {
  await ctx.waitSignal("never");
  return 1;
});
const waiting = workflow("waiting", { version: 1 }).run(async (ctx) => {
  await ctx.waitSignal("never");
});

/** How a function fails that does this and returns. */
async function failureAfter(leave: (ctx: WorkflowContext) => void) {
  const leaving = workflow("leaving", { version: 1 }).run(async (ctx) => {
    leave(ctx);
    await ctx.step("last", () => 1);
  });
  return failureOf(each.kernel, [leaving, never, waiting]);
}

describe("returning is refused, with the name of what is open:", () => {
  const forgotten: Readonly<Record<string, readonly [string, (ctx: WorkflowContext) => void]>> = {
    "of a call": ['call "never"', (ctx) => void ctx.call(never, 1)],
    "of a started call": ['call "never/a"', (ctx) => void ctx.startCall(never, 1, { key: "a" })],
    "of a child run": ['child "', (ctx) => void ctx.child(waiting)],
    "of a question": ['question "q"', (ctx) => void ctx.ask("q", { question: "?" })],
    "of a call in a map": [
      'call "m/1/never"',
      (ctx) => void ctx.map("m", [1], { key: String }, (n) => ctx.call(never, n)),
    ],
  };
  test.each(Object.entries(forgotten))("%s", async (_what, [name, leave]) => {
    const failure = await failureAfter(leave);
    expect(failure.code).toBe("PAWL_OPEN_CALLS");
    expect(failure.message).toContain(name);
    expect(failure.message).toContain("Await every ctx call.");
  });
});

type Given = string | number | readonly (string | readonly string[])[];

/** What a function gives that does this and returns. */
async function returned(code: (ctx: WorkflowContext) => Promise<Given>) {
  const racing = workflow("racing", { version: 1 }).run(code);
  const worker = await each.kernel.worker({ serve: [racing, never, waiting] });
  const run = await each.kernel.start(racing, undefined, { runId: "r" });
  const value = await run.result({ timeout: "2m" });
  await worker.close();
  return { run, value };
}

describe("returning is not refused", () => {
  test("for a call that lost a race, and it is cancelled", async () => {
    const { run, value } = await returned(async (ctx) => {
      const entries = { call: ctx.call(never, 1), time: ctx.sleep("time", "20ms") };
      return (await ctx.race("first", entries)).winner;
    });
    expect(value).toBe("time");
    expect((await run.task("never")).status).toBe(CANCELLED);
  });

  test("for a step that lost a race, in the function or in an item of a map", async () => {
    const slow = () => new Promise<number>(() => undefined);
    const { value } = await returned(async (ctx) => {
      const race = (name: string) =>
        ctx.race(name, {
          slow: ctx.step(`slow-${name}`, slow),
          fast: ctx.step(`f-${name}`, () => 1),
        });
      const own = await race("own");
      const items = await ctx.map("m", [1], { key: String }, async () => (await race("in")).winner);
      return [own.winner, items.map((item) => item.status)];
    });
    expect(value).toEqual(["fast", ["ok"]]);
  });

  test("for an approval, a question and a child that lost an any", async () => {
    const { value } = await returned(async (ctx) => {
      const entries = {
        asked: ctx.ask("q", { question: "?" }),
        child: ctx.child(waiting),
        step: ctx.step("s", () => 1),
      };
      return (await ctx.any("first", entries)).winner;
    });
    expect(value).toBe("step");
  });

  test("for what code of the function's own has open that lost a race", async () => {
    const { run, value } = await returned(async (ctx) => {
      const branch = async () => {
        await ctx.step("before", () => 1);
        await ctx.call(never, 1);
      };
      const entries = { branch: branch(), time: ctx.sleep("time", "20ms") };
      return (await ctx.race("first", entries)).winner;
    });
    expect(value).toBe("time");
    expect((await run.task("never")).status).toBe(CANCELLED);
  });

  test("for a timer and a signal that nobody awaits", async () => {
    const { value } = await returned(async (ctx) => {
      void ctx.sleep("time", "1h");
      void ctx.waitSignal("signal");
      return ctx.step("s", () => 1);
    });
    expect(value).toBe(1);
  });

  test("for a child that was started and whose end nobody asked for", async () => {
    const { value } = await returned(async (ctx) => {
      await ctx.startChild(waiting);
      return 1;
    });
    expect(value).toBe(1);
  });
});
