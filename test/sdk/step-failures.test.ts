// Goal: a step that fails for good is recorded as failed, and thrown the same at every later attempt without running.
import { json, operation, StepFailed, type TaskContext, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";

const each = eachEmbedded();

const pay = operation("pay", {
  payload: json<number>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "1h" },
  call: () => "paid",
});

class DiskFull extends Error {
  override readonly name: string = "DiskFull";
}

test("a step with a retry of its own fails for good after it, and never runs again", async () => {
  const ran: string[] = [];
  const seen: unknown[] = [];
  const write = task("write", { retry: { attempts: 2, initial: "1ms" } }).run(async (ctx) => {
    const failed = await ctx
      .step("write", { retry: { attempts: 3, initial: "1ms", max: "1ms" } }, () => {
        ran.push(`attempt ${ctx.attempt}`);
        throw new DiskFull("no room");
      })
      .catch((error: unknown) => error);
    seen.push(failed);
    if (ctx.attempt === 1) throw new Error("again");
    return "told";
  });
  await each.kernel.worker({ serve: [write] });
  const run = await each.kernel.start(write, undefined, { runId: "r" });
  expect(await run.result({ timeout: "20s" })).toBe("told");
  expect(ran).toEqual(["attempt 1", "attempt 1", "attempt 1"]);
  expect(seen).toEqual([expect.any(StepFailed), expect.any(StepFailed)]);
  for (const failed of seen) {
    expect(failed).toMatchObject({
      code: "PAWL_STEP_FAILED",
      step: "write",
      message: 'Step "write" failed for good: no room',
      failure: { kind: "DiskFull", message: "no room" },
    });
  }
});

test("a step says which errors are worth another try", async () => {
  let tries = 0;
  const pick = task("pick", { output: json<string>() }).run(async (ctx) => {
    const options = {
      retry: { attempts: 5, initial: "1ms", when: (error: unknown) => error instanceof DiskFull },
    } as const;
    return await ctx
      .step("pick", options, () => {
        tries++;
        if (tries === 1) throw new DiskFull("no room");
        throw new TypeError("not a disk");
      })
      .catch((error: unknown) => (error instanceof StepFailed ? error.failure.kind : "another"));
  });
  await each.kernel.worker({ serve: [pick] });
  expect(await each.kernel.execute(pick, undefined, { timeout: "20s" })).toBe("TypeError");
  expect(tries).toBe(2);
});

test("a step without one that ends its attempt is not recorded, and runs again with the next", async () => {
  const seen: unknown[] = [];
  const flaky = task("flaky", { retry: { attempts: 2, initial: "1ms" } }).run(async (ctx) => {
    try {
      return await ctx.step("flaky", () => {
        if (ctx.attempt === 1) throw new DiskFull("no room");
        return "written";
      });
    } catch (error) {
      seen.push(error);
      throw error;
    }
  });
  await each.kernel.worker({ serve: [flaky] });
  expect(await each.kernel.execute(flaky, undefined, { timeout: "20s" })).toBe("written");
  expect(seen).toMatchObject([{ name: "StepFailed", failure: { kind: "DiskFull" } }]);
});

test("what ended the attempt is told as it was thrown in the step", async () => {
  const full = task("full", { retry: { attempts: 1 } }).run(async (ctx) => {
    await ctx.step("write", () => {
      throw new DiskFull("no room");
    });
  });
  await each.kernel.worker({ serve: [full] });
  await expect(each.kernel.execute(full, undefined, { timeout: "20s" })).rejects.toMatchObject({
    failure: { cause: { kind: "DiskFull", message: "no room" } },
  });
});

test.each([
  ["another step", (ctx: TaskContext) => ctx.step("note", () => 1)],
  ["an effect", (ctx: TaskContext) => ctx.perform(pay, 1, { target: "bank" })],
  ["a wait", (ctx: TaskContext) => ctx.sleep("nap", "1ms")],
] as const)("a step without one fails for good when the code goes on to %s", async (_, goOn) => {
  const ran: number[] = [];
  const seen: unknown[] = [];
  const code = task("code", { retry: { attempts: 2, initial: "1ms" } }).run(async (ctx) => {
    const failed = await ctx
      .step("write", () => {
        ran.push(ctx.attempt);
        if (ran.length === 1) throw new DiskFull("no room");
        return "written";
      })
      .catch((error: StepFailed) => error.failure.kind);
    seen.push(failed);
    await goOn(ctx);
    if (ctx.attempt === 1) throw new Error("again");
    return failed;
  });
  await each.kernel.worker({ serve: [code] });
  expect(await each.kernel.execute(code, undefined, { timeout: "20s" })).toBe("DiskFull");
  expect(ran).toEqual([1]);
  expect(new Set(seen)).toEqual(new Set(["DiskFull"]));
});

test("a step without one may be made again as long as nothing else was done", async () => {
  let tries = 0;
  const stubborn = task("stubborn", { output: json<string>() }).run(async (ctx) => {
    for (;;) {
      const made = await ctx
        .step("write", () => {
          if (++tries < 3) throw new DiskFull("no room");
          return "written";
        })
        .catch(() => undefined);
      if (made !== undefined) return made;
    }
  });
  await each.kernel.worker({ serve: [stubborn] });
  expect(await each.kernel.execute(stubborn, undefined, { timeout: "20s" })).toBe("written");
});

test("a try that takes too long is aborted and thrown as such, and the next may be in time", async () => {
  const aborted: boolean[] = [];
  const slow = task("slow").run(async (ctx) => {
    return await ctx.step(
      "slow",
      { timeout: "50ms", retry: { attempts: 2, initial: "1ms" } },
      async ({ signal }): Promise<string> => {
        if (aborted.length === 1) return "in time";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        aborted.push(signal.aborted);
        throw signal.reason;
      },
    );
  });
  await each.kernel.worker({ serve: [slow] });
  expect(await each.kernel.execute(slow, undefined, { timeout: "20s" })).toBe("in time");
  expect(aborted).toEqual([true]);
});

test("a step whose tries all take too long says so", async () => {
  const never = task("never").run(async (ctx) => {
    return await ctx
      .step("never", { timeout: "20ms", retry: { attempts: 1 } }, async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "too late";
      })
      .catch((error: unknown) => (error instanceof StepFailed ? error.failure.code : "another"));
  });
  await each.kernel.worker({ serve: [never] });
  expect(await each.kernel.execute(never, undefined, { timeout: "20s" })).toBe(
    "PAWL_STEP_TIMED_OUT",
  );
});
