import { CallFailed, json, operation, task, type WorkflowContext, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { recordedFailure } from "./support/run-code.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

const double = task("double", { input: json<number>() }).run((_ctx, n) => n * 2);
const pay = operation("payments.pay", {
  payload: json<{ readonly cents: number }>(),
  result: json<number>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => op.payload.cents,
});

type Code = (ctx: WorkflowContext) => Promise<string>;

/** Runs one code until it waits for the signal "go", then goes on with another code under the same name and version. */
async function change(before: Code, after: Code): Promise<unknown> {
  const changing = workflow("changing", { version: 1, retry: { attempts: 1 } });
  const first = await each.kernel.worker({ serve: [changing.run(before), double] });
  const run = await each.kernel.start(changing.run(before), undefined, { runId: "c" });
  await expect.poll(async () => (await run.get()).why).toContain('"go"');
  await first.close();
  await run.signal("go");
  await each.kernel.worker({ serve: [changing.run(after), double] });
  return run.result(timeout).catch((error: unknown) => error);
}

describe("code that changed under one name and version", () => {
  test("gets what is recorded under a name, whatever it would make of it now", async () => {
    const code =
      (n: number): Code =>
      async (ctx) => {
        const step = await ctx.step("draw", () => n);
        const called = await ctx.call(double, n);
        await ctx.waitSignal("go");
        return `${step} ${called}`;
      };
    expect(await change(code(1), code(2))).toBe("1 2");
  });

  test("that asks for another effect under one key fails, and says what is recorded and what is asked", async () => {
    const code =
      (cents: number): Code =>
      async (ctx) => {
        await ctx.perform(pay, { cents }, { target: "bank" });
        await ctx.waitSignal("go");
        return "paid";
      };
    const failure = recordedFailure(await change(code(1), code(2)));
    expect(failure.code).toBe("PAWL_FINGERPRINT_CONFLICT");
    expect(failure.message).toContain("payments.pay");
    expect(failure.retryable).toBe(false);
  });

  test("that waits for something else under one name fails, and says which", async () => {
    const failure = recordedFailure(
      await change(
        async (ctx) => (await ctx.waitSignal("go")).status,
        async (ctx) => {
          await ctx.sleep("go", "1h");
          return "slept";
        },
      ),
    );
    expect(failure.code).toBe("PAWL_RECORD_MISMATCH");
    expect(failure.message).toContain('"go"');
  });
});

describe("versions", () => {
  const Old = workflow("versioned", { version: 1 });
  const New = workflow("versioned", { version: 2 });
  const code =
    (text: string): Code =>
    async (ctx) => {
      await ctx.waitSignal("go");
      return text;
    };

  test("run side by side: a run goes on with the version that it began with", async () => {
    const old = Old.run(code("old"));
    const next = New.run(code("new"));
    await each.kernel.worker({ serve: [old] });
    await each.kernel.worker({ serve: [next] });
    const first = await each.kernel.start(old, undefined, { runId: "1" });
    const second = await each.kernel.start(next, undefined, { runId: "2" });
    await Promise.all([first.signal("go"), second.signal("go")]);
    expect([await first.result(timeout), await second.result(timeout)]).toEqual(["old", "new"]);
  });

  test("that no worker serves wait, and why says so; they go on when one comes", async () => {
    const old = Old.run(code("old"));
    const next = New.run(code("new"));
    const worker = await each.kernel.worker({ serve: [next] });
    const run = await each.kernel.start(old, undefined, { runId: "1" });
    await expect.poll(async () => (await run.get()).why).toContain('"versioned@1"');
    expect((await run.task("main")).attempt).toBe(0);
    await run.signal("go");
    await each.kernel.worker({ serve: [old] });
    expect(await run.result(timeout)).toBe("old");
    await worker.close();
  });
});

test("a called task that takes too long fails its call, by the timeouts of the call", async () => {
  const slow = task("slow").run(async (ctx) => {
    await new Promise((resolve) => {
      ctx.signal.addEventListener("abort", resolve, { once: true });
    });
    throw ctx.signal.reason;
  });
  const hurried = workflow("hurried", { version: 1 }).run(async (ctx) => {
    const how = { timeouts: { startToClose: "50ms" }, retry: { attempts: 1 } } as const;
    const error: unknown = await ctx.call(slow, undefined, how).catch((thrown: unknown) => thrown);
    return error instanceof CallFailed ? `${error.task}: ${error.failure.code}` : "another";
  });
  await each.kernel.worker({ serve: [hurried, slow] });
  expect(await each.kernel.execute(hurried, undefined, timeout)).toMatch(
    /^slow: PAWL_.*TIMED?_?OUT/,
  );
});
