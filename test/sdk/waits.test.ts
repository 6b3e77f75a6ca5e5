import { json, RunFailed, task } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachClocked } from "../field-reports/support/each-clocked.js";

const YEAR_MS = 365 * 86_400_000;

const each = eachClocked();

/** Waits until the task of a run is in this state. */
async function until(runId: string, status: string): Promise<void> {
  for (;;) {
    const { run } = await each.client.api.runs.getRun({ runId });
    if (run?.why.includes(status)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The one open request to somebody, once there is one. */
async function openRequest(addressee: string): Promise<{ inputId: string; version: number }> {
  for (;;) {
    for await (const request of each.client.inputs.list({ addressee })) return request;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("ctx.sleep", () => {
  test("frees the slot, drops the handler without catch or finally, and goes on a year later", async () => {
    const seen: string[] = [];
    const patient = task("patient").run(async (ctx) => {
      seen.push(`begins, attempt ${ctx.attempt}`);
      const token = await ctx.step("token", () => {
        seen.push("step");
        return 7;
      });
      try {
        await ctx.sleep("until-ship", "365d");
        seen.push("slept");
      } catch (error) {
        seen.push(`caught ${error}`);
      } finally {
        seen.push("finally");
      }
      return token;
    });
    const worker = await each.client.worker({ serve: [patient], slots: 1 });
    const run = await each.client.start(patient, undefined, { runId: "r" });
    await until("r", 'for timer "until-ship"');
    expect(worker.running).toBe(0);
    await each.kernel.time.pass(YEAR_MS - 60_000);
    await until("r", 'for timer "until-ship"');
    await each.kernel.time.pass(60_100);
    expect(await run.result({ timeout: "10s" })).toBe(7);
    expect(seen).toEqual(["begins, attempt 1", "step", "begins, attempt 1", "slept", "finally"]);
  });

  test("survives the kernel, and fires what was due while it was down", async () => {
    const napping = task("napping").run(async (ctx) => {
      await ctx.sleep("one", "1h");
      await ctx.sleepUntil("two", new Date(each.kernel.time.wallMs() - 1));
      return "rested";
    });
    await each.client.worker({ serve: [napping] });
    const run = await each.client.start(napping, undefined, { runId: "r" });
    await until("r", 'for timer "one"');
    await each.kernel.kill();
    await each.kernel.time.pass(7_200_000);
    await each.kernel.start();
    await each.closeClient();
    await each.client.worker({ serve: [napping] });
    await each.kernel.time.pass(100);
    expect(await each.client.run("r").result({ timeout: "20s" })).toBe("rested");
    expect(run.runId).toBe("r");
  });
});

describe("waits at the same time", () => {
  test("refuse the same name twice, with both places", async () => {
    const twice = task("twice", { retry: { attempts: 1 } }).run(async (ctx) => {
      await Promise.all([ctx.sleep("same", "1h"), ctx.sleep("same", "2h")]);
    });
    await each.client.worker({ serve: [twice] });
    const run = await each.client.start(twice, undefined, { runId: "r" });
    const failed = await run.result({ timeout: "10s" }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailed);
    expect(String((failed as RunFailed).message)).toMatch(
      /"same" is used twice: first .*waits\.test\.ts/s,
    );
  });

  test("have the same winner however often the code runs again", async () => {
    const winners: string[] = [];
    const racing = task("racing").run(async (ctx) => {
      const late = ctx.sleep("late", "2m").then(() => "late");
      const early = ctx.sleep("early", "1m").then(() => "early");
      const first = await Promise.race([late, early]);
      winners.push(first);
      await late;
      await ctx.sleep("after", "1d");
      return first;
    });
    await each.client.worker({ serve: [racing] });
    const run = await each.client.start(racing, undefined, { runId: "r" });
    await until("r", 'for timer "late"');
    // Both are over before the code runs again: what was recorded first wins.
    await each.kernel.time.pass(180_000);
    await until("r", 'for timer "after"');
    await each.kernel.time.pass(86_400_000);
    expect(await run.result({ timeout: "10s" })).toBe("early");
    expect(winners).toEqual(["early", "early"]);
  });

  test("that lost a race hold up neither the return nor work of its own", async () => {
    const quick = task("quick").run(async (ctx) => {
      const first = await Promise.race([
        ctx.sleep("short", "1s").then(() => "short"),
        ctx.sleep("long", "30d").then(() => "long"),
      ]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return first;
    });
    await each.client.worker({ serve: [quick] });
    const run = await each.client.start(quick, undefined, { runId: "r" });
    await until("r", 'for timer "short"');
    await each.kernel.time.pass(1_100);
    expect(await run.result({ timeout: "10s" })).toBe("short");
  });
});

describe("a wait whose answer a schema reads", () => {
  test("has the same winner however long it takes", async () => {
    // Longer than the waits take to give the next outcome, which is at most a few turns.
    const slowly = json<number>();
    const { validate } = slowly["~standard"];
    const as = {
      "~standard": {
        ...slowly["~standard"],
        validate: async (value: unknown) => {
          for (let turn = 0; turn < 50; turn++) {
            await new Promise((resolve) => setImmediate(resolve));
          }
          return await validate(value);
        },
      },
    };
    const winners: string[] = [];
    const racing = task("racing").run(async (ctx) => {
      const question = { question: "How many?", addressee: "clerk", as };
      const answer = ctx.ask("how many", question).then(() => "answer");
      const timer = ctx.sleep("timer", "1m");
      const first = await Promise.race([answer, timer.then(() => "timer")]);
      winners.push(first);
      await timer;
      return first;
    });
    await each.client.worker({ serve: [racing] });
    const run = await each.client.start(racing, undefined, { runId: "r" });
    const { inputId, version } = await openRequest("clerk");
    await each.client.inputs.provide(inputId, 3, version);
    await expect.poll(() => winners, { timeout: 10_000 }).toEqual(["answer"]);
    await until("r", 'for timer "timer"');
    // The code runs again with both outcomes there at once.
    await each.kernel.time.pass(60_100);
    expect(await run.result({ timeout: "10s" })).toBe("answer");
    expect(winners).toEqual(["answer", "answer"]);
  });
});

describe("ctx.waitSignal", () => {
  test("takes what came early and what comes late, each once, in order", async () => {
    const counting = task("counting").run(async (ctx) => {
      const seen: (number | string)[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const signal = await ctx.waitSignal<number>("count", { key: `${turn}` });
        seen.push(signal.status === "received" ? signal.value : signal.status);
      }
      return seen;
    });
    const withSignal = { name: "count", payload: 1, requestId: "first" };
    const run = await each.client.start(counting, undefined, { runId: "r", withSignal });
    await each.client.start(counting, undefined, { runId: "r", withSignal });
    await run.signal("count", 2, { requestId: "second" });
    expect((await run.signal("count", 2, { requestId: "second" })).existing).toBe(true);
    await each.client.worker({ serve: [counting] });
    await until("r", 'for signal "count"');
    await run.signal("count", 3);
    expect(await run.result({ timeout: "10s" })).toEqual([1, 2, 3]);
  });

  test("gives up after its timeout, and a finished run takes no signal", async () => {
    const waiting = task("waiting").run(async (ctx) => {
      const { status } = await ctx.waitSignal("never", { timeout: "1h" });
      return status;
    });
    await each.client.worker({ serve: [waiting] });
    const run = await each.client.start(waiting, undefined, { runId: "r" });
    await until("r", 'for signal "never"');
    await each.kernel.time.pass(3_600_100);
    expect(await run.result({ timeout: "10s" })).toBe("timed-out");
    await expect(run.signal("never", 1)).rejects.toMatchObject({ code: "PAWL_RUN_OVER" });
  });

  test("gives content above the inline bound whole, and checked", async () => {
    const reading = task("reading").run(async (ctx) => {
      const schema = json<{ text: string }>();
      const signal = await ctx.waitSignal("big", { schema });
      return signal.status === "received" ? signal.value.text.length : 0;
    });
    await each.client.worker({ serve: [reading] });
    const run = await each.client.start(reading, undefined, { runId: "r" });
    await run.signal("big", { text: "x".repeat(100_000) });
    expect(await run.result({ timeout: "10s" })).toBe(100_000);
  });
});

describe("ctx.ask", () => {
  const asking = task("asking").run(async (ctx) => {
    const answer = await ctx.ask<{ cents: number }>("refund", {
      question: "How much may be paid back?",
      addressee: "role:finance",
      schema: {
        type: "object",
        properties: { cents: { type: "integer" } },
        required: ["cents"],
      },
      expiresIn: "48h",
    });
    return answer;
  });

  test("goes on with what a person answered, although no worker was there", async () => {
    const worker = await each.client.worker({ serve: [asking] });
    const run = await each.client.start(asking, undefined, { runId: "r" });
    const { inputId, version } = await openRequest("role:finance");
    await worker.close();
    const refused = each.client.inputs.provide(inputId, { cents: "five" }, version);
    await expect(refused).rejects.toMatchObject({ code: "PAWL_ANSWER_REFUSED" });
    await each.client.inputs.provide(inputId, { cents: 500 }, version);
    expect((await each.client.inputs.provide(inputId, { cents: 500 }, version)).existing).toBe(
      true,
    );
    const other = each.client.inputs.provide(inputId, { cents: 900 }, version);
    await expect(other).rejects.toMatchObject({ code: "PAWL_FINGERPRINT_CONFLICT" });
    await each.client.worker({ serve: [asking] });
    const answer = { status: "answered", value: { cents: 500 }, by: "local" };
    expect(await run.result({ timeout: "10s" })).toEqual(answer);
    expect((await each.client.inputs.get(inputId)).answeredBy).toBe("local");
  });

  test("sees that somebody declined, and that nobody answered", async () => {
    await each.client.worker({ serve: [asking] });
    const declined = await each.client.start(asking, undefined, { runId: "declined" });
    const first = await openRequest("role:finance");
    await each.client.inputs.decline(first.inputId, "not mine", first.version);
    const reason = { status: "declined", reason: "not mine", by: "local" };
    expect(await declined.result({ timeout: "10s" })).toEqual(reason);
    const expired = await each.client.start(asking, undefined, { runId: "expired" });
    await openRequest("role:finance");
    await each.kernel.time.pass(48 * 3_600_000 + 100);
    expect(await expired.result({ timeout: "10s" })).toEqual({ status: "expired" });
  });

  test("fails the task for a schema that is none", async () => {
    const wrong = task("wrong", { retry: { attempts: 1 } }).run((ctx) =>
      ctx.ask<string>("bad", { question: "What?", schema: { type: 7 } }),
    );
    await each.client.worker({ serve: [wrong] });
    const run = await each.client.start(wrong, undefined, { runId: "r" });
    await expect(run.result({ timeout: "10s" })).rejects.toThrow(/JSON Schema/);
  });
});
