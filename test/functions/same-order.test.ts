import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import {
  json,
  operation,
  type ProposalInfo,
  type Schema,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

/**
 * What a function is given, and in which order, is the same while it is in memory (warm) and when it runs again from its records (cold): so
 * whatever the code makes of two things that race it makes of them again.
 */
const each = eachEmbedded();

/** Notes what is given to the code, in that order. */
type Note = (what: string, promise: Promise<unknown>) => Promise<unknown>;

/** Resolves when the code was given so many things: so what comes after them is theirs to wait for, not a clock's. */
type Reached = (count: number) => Promise<void>;

/** Runs code to its end warm, then again cold; answers what each execution was given, in order. */
async function runTwice(
  code: (ctx: WorkflowContext, note: Note, reached: Reached) => Promise<unknown>,
): Promise<{
  readonly warm: readonly string[];
  readonly cold: readonly string[];
}> {
  const executions: string[][] = [];
  const served = workflow("twice", { version: 1 }).run(async (ctx) => {
    const given: string[] = [];
    executions.push(given);
    const note: Note = (what, promise) =>
      promise.then(
        () => given.push(what),
        () => given.push(`${what} failed`),
      );
    await code(ctx, note, async (count) => {
      while (given.length < count) await pause(5);
    });
    given.push("end");
    await ctx.waitSignal("go on");
  });
  const one = await each.kernel.worker({ serve: [served] });
  const run = await each.kernel.start(served, undefined, { runId: "t" });
  await expect.poll(async () => (await run.get()).why, { timeout: 30_000 }).toContain("go on");
  await one.close();
  await run.signal("go on");
  await each.kernel.worker({ serve: [served] });
  await run.result({ timeout: "2m" });
  const last = executions.at(-1) ?? [];
  const first = executions.find((given) => given.includes("end")) ?? [];
  expect(executions.length).toBeGreaterThan(1);
  return { warm: first, cold: last };
}

/** A schema that takes its time. */
const slowly: Schema<unknown, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: async (value) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { value: Number(value) };
    },
  },
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("a function is given operations in the same order, warm and cold:", () => {
  test("an operation that took longer than a timer", async () => {
    let reached: Reached = () => Promise.resolve();
    const pay = operation("pay", {
      payload: json<number>(),
      result: json<number>(),
      call: async ({ payload }) => {
        await reached(1);
        return payload;
      },
    });
    const { warm, cold } = await runTwice((ctx, note, given) => {
      reached = given;
      return Promise.all([
        note("operation", ctx.perform(pay, 1, { target: "bank" })),
        note("timer", ctx.sleep("soon", "50ms")),
      ]);
    });
    expect(warm).toEqual(["timer", "operation", "end"]);
    expect(cold).toEqual(warm);
  });

  test("operations of every scope beside steps", async () => {
    let reached: Reached = () => Promise.resolve();
    const nth = operation("nth", {
      payload: json<number>(),
      result: json<number>(),
      call: async ({ payload }) => {
        await reached(payload);
        return payload;
      },
    });
    const { warm, cold } = await runTwice((ctx, note, given) => {
      reached = given;
      return Promise.all([
        note("task", ctx.perform(nth, 3, { target: "t" })),
        note(
          "step two",
          ctx.step("two", () => given(1).then(() => 2)),
        ),
        note("namespace", ctx.perform(nth, 2, { target: "t", scope: "namespace", key: "n" })),
        note("run", ctx.perform(nth, 0, { target: "t", scope: "run", key: "r" })),
        note(
          "step five",
          ctx.step("five", () => given(4).then(() => 5)),
        ),
      ]);
    });
    expect(warm).toEqual(["run", "step two", "namespace", "task", "step five", "end"]);
    expect(cold).toEqual(warm);
  });
});

describe("a function is given the same order, warm and cold, of", () => {
  test("steps that await their commit, beside steps that do not, and messages", async () => {
    const { warm, cold } = await runTwice(async (ctx, note) => {
      for (let round = 0; round < 20; round++) {
        const key = `${round}`;
        await Promise.all([
          note(
            `durable ${key}`,
            ctx.step("durable", { key, durable: true }, () => 1),
          ),
          note(`timer ${key}`, ctx.sleep("timer", "1ms", { key })),
          note(
            `plain ${key}`,
            ctx.step("plain", { key }, () => pause(round % 3).then(() => 1)),
          ),
          note(
            `failing ${key}`,
            ctx.step("failing", { key, retry: { attempts: 1 } }, () => {
              throw new Error("no");
            }),
          ),
        ]);
      }
    });
    expect(cold).toEqual(warm);
  });

  test("a proposal whose schema takes longer than a timer", async () => {
    const refund = operation("refund", {
      payload: slowly,
      result: json<number>(),
      call: ({ payload }) => payload,
    });
    const decide = async (): Promise<void> => {
      const find = async (): Promise<ProposalInfo | undefined> => {
        for await (const { proposalId } of each.kernel.approvals.list({}))
          return each.kernel.approvals.get(proposalId);
        return undefined;
      };
      await expect.poll(find, { timeout: 30_000 }).toBeDefined();
      const shown = await find();
      if (shown !== undefined) await each.kernel.approvals.approve(shown);
    };
    const decided = decide();
    const { warm, cold } = await runTwice((ctx, note) => {
      const said = ctx.approve(refund, 5, { target: "bank", requesterMayDecide: true });
      return Promise.all([
        note("decision", said),
        note(
          "timer",
          ctx.sleep("soon", "1ms").then(() => ctx.sleep("then", "1s")),
        ),
      ]);
    });
    await decided;
    expect([...warm].sort()).toEqual(["decision", "end", "timer"]);
    expect(cold).toEqual(warm);
  });
});

test.each([0, 1, 2, 3])(
  "a function is given the same order, warm and cold, of a step that fails, beside one that gives something %d microtasks later",
  async (later) => {
    const { warm, cold } = await runTwice(async (ctx, note) => {
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const failing = note(
        "failing",
        ctx.step("failing", async () => {
          await opened;
          throw new Error("no");
        }),
      );
      const giving = note(
        "giving",
        ctx.step("giving", async () => {
          await opened;
          for (let turn = 0; turn < later; turn++) await undefined;
          return 1;
        }),
      );
      open();
      await Promise.all([failing, giving]);
    });
    expect([...warm].sort()).toEqual(["end", "failing failed", "giving"]);
    expect(cold).toEqual(warm);
  },
);

test("a native Promise.race has the same winner, warm and cold", async () => {
  const quick = task("quick", { output: json<string>() }).run(() => "quick");
  await each.kernel.worker({ serve: [quick] });
  const winners: string[] = [];
  await runTwice(async (ctx, note) => {
    // When the code runs again both have ended; the timer is asked for first, and has lost all the same.
    const timer = ctx.sleep("nap", "2s").then(() => "timer");
    const call = ctx.call(quick);
    winners.push(await Promise.race([timer, call]));
    await note("timer", timer);
  });
  expect(winners.length).toBeGreaterThan(1);
  expect(new Set(winners).size).toBe(1);
});

test("of two called tasks the one that ended first is given first, however large its output is", async () => {
  const large = task("large").run(() => "x".repeat(100_000));
  const small = task("small").run(async (ctx) => {
    await ctx.waitSignal("large is there");
    return "y";
  });
  const first = workflow("first", { version: 1 }).run((ctx) =>
    Promise.race([ctx.call(large), ctx.call(small)]).then((output) => output.length),
  );
  const caller = await each.kernel.worker({ serve: [first] });
  const run = await each.kernel.start(first, undefined, { runId: "f" });
  const statusOf = async (name: string): Promise<TaskStatus | undefined> =>
    (await run.task(name).catch(() => undefined))?.status;
  await expect.poll(() => statusOf("small")).toBe(TaskStatus.READY);
  await caller.close();
  const others = await each.kernel.worker({ serve: [large, small] });
  await expect.poll(() => statusOf("large")).toBe(TaskStatus.COMPLETED);
  await run.signal("large is there");
  await expect.poll(() => statusOf("small")).toBe(TaskStatus.COMPLETED);
  await others.close({ drainMs: 5_000 });
  await each.kernel.worker({ serve: [first] });
  expect(await run.result({ timeout: "2m" })).toBe(100_000);
});
