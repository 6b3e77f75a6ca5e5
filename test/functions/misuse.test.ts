import { json, operation, task, type WorkflowContext, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { failureOf } from "./support/run-code.js";

const each = eachEmbedded();

const double = task("double", { input: json<number>() }).run((_ctx, n) => n * 2);
const write = operation("write", {
  payload: json<string>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => op.payload,
});

/** What a function that catches the error of this code sees. */
async function errorIn(code: (ctx: WorkflowContext) => Promise<unknown>): Promise<string> {
  const trying = workflow("trying", { version: 1 }).run(async (ctx) => {
    try {
      await code(ctx);
      return "nothing was thrown";
    } catch (error) {
      return error instanceof Error ? error.message : "no error";
    }
  });
  const worker = await each.kernel.worker({ serve: [trying, double] });
  const message = await each.kernel.execute(trying, undefined, { timeout: "2m" });
  await worker.close();
  return message;
}

describe("a ctx call inside a step throws, whatever it is", () => {
  const calls: Readonly<Record<string, (ctx: WorkflowContext) => Promise<unknown>>> = {
    step: (ctx) => ctx.step("inner", () => 1),
    read: (ctx) => ctx.read("inner", () => 1),
    perform: (ctx) => ctx.perform(write, "x", { target: "t" }),
    approve: (ctx) => ctx.approve(write, "x", { target: "t", from: ["role:a"], expiresIn: "1h" }),
    ask: (ctx) => ctx.ask("inner", { question: "?", addressee: "role:a", expiresIn: "1h" }),
    waitSignal: (ctx) => ctx.waitSignal("inner"),
    sleep: (ctx) => ctx.sleep("inner", "1ms"),
    call: (ctx) => ctx.call(double, 1),
    map: (ctx) => ctx.map("inner", [1], { key: String }, async () => 1),
    race: (ctx) => ctx.race("inner", { one: Promise.resolve(1) }),
    any: (ctx) => ctx.any("inner", { one: Promise.resolve(1) }),
    now: (ctx) => ctx.now("inner"),
    random: (ctx) => ctx.random("inner"),
    uuid: (ctx) => ctx.uuid("inner"),
    signalRun: (ctx) => ctx.signalRun("r", "inner"),
    cancelRun: (ctx) => ctx.cancelRun("r"),
  };

  test.each(Object.entries(calls))("%s", async (_name, call) => {
    const message = await errorIn((ctx) =>
      ctx.step("outer", async () => {
        await call(ctx);
        return null;
      }),
    );
    expect(message).toContain("Expected no ctx call inside a step, but ");
    expect(message).toContain('inside step "outer"');
  });
});

describe("returning", () => {
  test("with steps that have not ended fails for good, and names them", async () => {
    const leaving = workflow("leaving", { version: 1 }).run(async (ctx) => {
      void ctx.step("slow", () => new Promise<number>(() => undefined));
      await ctx.step("fast", () => 1);
    });
    const failure = await failureOf(each.kernel, [leaving]);
    expect(failure.code).toBe("PAWL_OPEN_CALLS");
    expect(failure.message).toContain('step "slow" had not. Await every ctx call.');
  });

  test("and going on with ctx is refused: its promise rejects", async () => {
    let seen: (error: unknown) => void = () => undefined;
    const late = new Promise<unknown>((resolve) => {
      seen = resolve;
    });
    const hasty = workflow("hasty", { version: 1 }).run(async (ctx) => {
      setTimeout(() => {
        const tries = [ctx.step("s", () => 1), ctx.call(double, 1), ctx.sleep("w", "1ms")];
        void Promise.allSettled(tries).then(seen);
      }, 20);
      return null;
    });
    await each.kernel.worker({ serve: [hasty, double] });
    await each.kernel.execute(hasty, undefined, { timeout: "2m" });
    expect(await late).toEqual(
      ["step", "call", "wait"].map(() => ({
        status: "rejected",
        reason: expect.objectContaining({ code: "PAWL_CONTEXT_CLOSED" }),
      })),
    );
  });
});

describe("values", () => {
  test("come back from a step as they are recorded, also the first time", async () => {
    const value = { list: [1, "two", null, { deep: true }], none: null, text: "ünï\u2028" };
    const giving = workflow("giving", { version: 1 }).run(async (ctx) => {
      const given = await ctx.step("give", () => value);
      return { isTheSameObject: given === value, given };
    });
    await each.kernel.worker({ serve: [giving] });
    expect(await each.kernel.execute(giving, undefined, { timeout: "2m" })).toEqual({
      isTheSameObject: false,
      given: value,
    });
  });

  test("that would not come back are refused where they are made, with their path", async () => {
    const row = { at: "" };
    Reflect.set(row, "at", new Date(0)); // Hidden from the compiler, which would refuse it.
    const message = await errorIn((ctx) => ctx.step("fetch", () => ({ rows: [row] })));
    expect(message).toContain(
      "Expected fetch.rows[0].at to be JSON, but it is an instance of Date.",
    );
  });

  test("undefined is refused: null says that there is nothing", async () => {
    const message = await errorIn((ctx) => ctx.step("fetch", () => Reflect.get({}, "none")));
    expect(message).toContain('Expected step "fetch" to return a value, but it is undefined.');
  });
});

test("a race of nothing, which nothing could win, is refused", async () => {
  expect(await errorIn((ctx) => ctx.race("empty", {}))).toContain(
    'Expected race "empty" to have entries, but it has none',
  );
  expect(await errorIn((ctx) => ctx.any("empty", {}))).toContain(
    'Expected any "empty" to have entries, but it has none',
  );
});

describe("a step", () => {
  test("with a name that would pass for one of the SDK's own is refused", async () => {
    const message = await errorIn((ctx) => ctx.step("$answer", { key: "1" }, () => 1));
    expect(message).toContain('a name of a step without "$" at its beginning, but it is "$answer"');
    expect(await errorIn((ctx) => ctx.read("$rollback/undo", () => 1))).toContain(
      '"$rollback/undo"',
    );
  });

  test.each([Number.NaN, 0, 1.5])("that may be tried %s times is refused", async (attempts) => {
    const message = await errorIn((ctx) => ctx.step("s", { retry: { attempts } }, () => 1));
    expect(message).toContain(`a whole number from 1, but it is ${attempts}`);
  });

  test("with a value whose toJSON gives nothing is refused", async () => {
    const empty: number[] = Object.assign([1], { toJSON: () => undefined });
    expect(await errorIn((ctx) => ctx.step("s", () => empty))).toContain(
      "its toJSON gives nothing",
    );
  });
});
