import {
  json,
  operation,
  Rejected,
  RunCancelled,
  RunFailed,
  type Schema,
  task,
  workflow,
} from "@pawl/sdk";
import {
  everyCrashWindow,
  openTestEnvironment,
  type TestEnvironment,
  testSink,
} from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";

const double = task("double", { input: json<number>() }).run((_ctx, n) => n * 2);

/** Counts signals, one for each incarnation. */
const counter = workflow("counter", {
  version: 1,
  input: json<{ seen: number; of: number }>(),
}).run(async (ctx, { seen, of }) => {
  await ctx.waitSignal("more");
  if (seen + 1 < of) return ctx.continueAsNew({ seen: seen + 1, of });
  return { seen: seen + 1, incarnation: ctx.incarnation };
});

const pay = operation("pay", {
  payload: json<number>(),
  result: json<string>(),
  sink: { kind: "reconcilable", settle: "0s" },
  call: (op) => `paid ${op.payload}`,
  lookup: () => "absent" as const,
});

describe("a function that continues as new", () => {
  test("goes on as the next incarnation of its run, and whoever waits for the run gets the result of the last", async () => {
    await using env = await openTestEnvironment();
    await env.worker({ serve: [counter] });
    const options = { runId: "c", labels: { team: "blue" } };
    const run = await env.kernel.start(counter, { seen: 0, of: 3 }, options);
    const watched: string[] = [];
    const watching = (async () => {
      for await (const { type } of run.watch()) watched.push(type);
    })();
    for (let n = 1; n <= 3; n++) await run.signal("more", undefined, { requestId: `s${n}` });
    expect(await run.result()).toEqual({ seen: 3, incarnation: 3 });
    await watching;
    expect(watched.filter((type) => type === "RunContinued" || type === "RunClosed")).toEqual([
      "RunContinued",
      "RunContinued",
      "RunClosed",
    ]);
    const { run: shown } = await env.kernel.api.runs.getRun({ runId: "c" });
    expect(shown).toMatchObject({ incarnation: 3, labels: { team: "blue" } });
    const again = await env.kernel.start(counter, { seen: 0, of: 3 }, { runId: "c" });
    expect([again.existing, await again.result()]).toEqual([true, { seen: 3, incarnation: 3 }]);
  });

  test("has names and operation keys of its own in each incarnation", async () => {
    const bank = testSink({ name: "bank" });
    const charge = operation("charge", {
      payload: json<number>(),
      result: json<string>(),
      sink: { kind: "reconcilable" },
      call: (op) => bank.call(op, () => `r${op.payload}`),
      lookup: (op) => bank.lookup<string>(op),
    });
    const monthly = workflow("monthly", { version: 1, input: json<string[]>() }).run(
      async (ctx, receipts) => {
        const month = await ctx.step("month", () => receipts.length + 1);
        const doubled = await ctx.call(double, month);
        await ctx.sleep("a month", "30d");
        const receipt = await ctx.perform(charge, doubled, { target: "card" });
        const all = [...receipts, receipt];
        return all.length < 2 ? ctx.continueAsNew(all) : all;
      },
    );
    await everyCrashWindow(
      async (each) => {
        await each.worker({ serve: [monthly, double] });
        return each.kernel.execute(monthly, [], { runId: "m" });
      },
      { kill: ["both"] },
    );
    await using env = await openTestEnvironment();
    await env.worker({ serve: [monthly, double] });
    expect(await env.kernel.execute(monthly, [], { runId: "m" })).toEqual(["r2", "r4"]);
    expect(env.effects(bank).map(({ times }) => times)).toEqual([1, 1]);
    expect(new Set(env.effects(bank).map(({ key }) => key)).size).toBe(2);
  });

  test("gives what its child waited for to its parent, as one run", async () => {
    const parent = workflow("parent", { version: 1 }).run(async (ctx) => {
      const child = await ctx.startChild(counter, { seen: 0, of: 2 });
      await ctx.signalRun(child.runId, "more", undefined, { key: "1" });
      await ctx.signalRun(child.runId, "more", undefined, { key: "2" });
      return child.result();
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [parent, counter] });
    expect(await env.kernel.execute(parent, undefined)).toEqual({ seen: 2, incarnation: 2 });
  });
});

describe("what is left when a function continues as new", () => {
  test("is given up: what it called, its questions and its waits", async () => {
    const asking = workflow("asking", { version: 1, input: json<number>() }).run(
      async (ctx, round) => {
        if (round === 2) return "done";
        const never = task("never-served");
        void ctx.call(never);
        void ctx.ask("why", { as: json<string>(), question: "Why?" });
        await ctx.waitSignal("go");
        return ctx.continueAsNew(round + 1);
      },
    );
    await using env = await openTestEnvironment();
    await env.worker({ serve: [asking] });
    const run = await env.kernel.start(asking, 1, { runId: "a" });
    await env.settle();
    await run.signal("go");
    expect(await run.result()).toBe("done");
    const { inputs } = await env.kernel.api.runs.listInputs({});
    expect(inputs).toEqual([]);
    expect(
      (await env.kernel.api.runs.listTasks({ runId: "a" })).tasks.map(({ name }) => name),
    ).toEqual(["main"]);
  });
});

test("a signal that a wait took, and that the code was not given any more, is for the next incarnation", async () => {
  await using env = await openTestEnvironment();
  let isTaken = false;
  /** The signal is received while the input of the next incarnation is checked. */
  const slow = schema<number>(async (value) => {
    if (value === 2 && !isTaken) {
      isTaken = true;
      await env.kernel.run("t").signal("word", "late");
    }
    return value;
  });
  const timed = workflow("timed", { version: 1, input: slow }).run(async (ctx, round) => {
    const { winner } = await ctx.race("first", {
      word: ctx.waitSignal("word", { schema: json<string>() }),
      time: ctx.sleep("time", round === 1 ? "1s" : "1h"),
    });
    if (round === 1) return ctx.continueAsNew(2);
    return winner;
  });
  await env.worker({ serve: [timed] });
  const run = await env.kernel.start(timed, 1, { runId: "t" });
  await env.settle();
  await env.advance("2s");
  expect(isTaken).toBe(true);
  await env.settle();
  await env.advance("2h");
  expect(await run.result()).toBe("word");
});

test("continuing as new is not refused for code that lost a race and has not ended", async () => {
  const racing = workflow("racing", { version: 1, input: json<number>() }).run(
    async (ctx, round) => {
      if (round === 2) return "done";
      const code = async (): Promise<number> =>
        ctx.step("slow", () => new Promise<number>(() => undefined));
      const { winner } = await ctx.race("first", { code: code(), now: ctx.step("now", () => 1) });
      return winner === "now" ? ctx.continueAsNew(2) : "lost";
    },
  );
  await using env = await openTestEnvironment();
  await env.worker({ serve: [racing] });
  expect(await env.kernel.execute(racing, 1)).toBe("done");
});

describe("continuing as new", () => {
  test("is refused while a step of it has not ended, by its name", async () => {
    const hasty = workflow("hasty", { version: 1 }).run(async (ctx) => {
      void ctx.step("slow", () => new Promise<number>(() => undefined));
      return ctx.continueAsNew();
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [hasty] });
    const result = env.kernel.execute(hasty, undefined);
    await expect(result).rejects.toThrow(RunFailed);
    await expect(result).rejects.toMatchObject({
      failure: {
        cause: { code: "PAWL_OPEN_CALLS", message: expect.stringContaining('step "slow"') },
      },
    });
  });

  test("is refused with a typed error that its code may heed, while an approval of it is open", async () => {
    const proposing = workflow("proposing", { version: 1, input: json<number>() }).run(
      async (ctx, round) => {
        if (round === 2) return "done";
        const said = ctx.approve(pay, 7, { target: "bank", from: ["role:finance"] });
        await ctx.waitSignal("go");
        try {
          return await ctx.continueAsNew(2);
        } catch (error) {
          if (!(error instanceof Rejected)) throw error;
          await ctx.step("refused", () => error.code);
        }
        await said;
        return ctx.continueAsNew(2);
      },
    );
    await using env = await openTestEnvironment();
    await env.worker({ serve: [proposing] });
    const run = await env.kernel.start(proposing, 1, { runId: "p" });
    await env.settle();
    await run.signal("go");
    await env.settle();
    const refused = (await env.kernel.api.runs.getTask({ runId: "p", task: "main" })).task;
    expect(refused?.waitsFor).toContain("approv");
    const [proposal] = (await env.kernel.api.approvals.listProposals({})).proposals;
    await env.kernel.api.approvals.withdrawProposal({
      ...{ proposalId: proposal?.proposalId ?? "", reason: "not now" },
      expectedVersion: proposal?.version ?? 0,
    });
    expect(await run.result()).toBe("done");
  });

  test("is refused once it has recorded how to undo something", async () => {
    const undoing = workflow("undoing", { version: 1 }).run(async (ctx) => {
      ctx.onRollback(pay, 1, { target: "bank" });
      return ctx.continueAsNew();
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [undoing] });
    await env.kernel.start(undoing, undefined, { runId: "u" });
    await env.settle();
    const { task: main } = await env.kernel.api.runs.getTask({ runId: "u", task: "main" });
    expect(main?.lastFailure).toMatchObject({
      code: "PAWL_ROLLBACKS_RECORDED",
      message: expect.stringContaining('task "main" recorded how to undo what it did'),
    });
  });

  test("is refused in a workflow that another one called: only a run's own function continues it", async () => {
    const inner = workflow("inner", { version: 1 }).run(async (ctx) => {
      try {
        return await ctx.continueAsNew();
      } catch (error) {
        return error instanceof Rejected ? error.code : "no";
      }
    });
    const outer = workflow("outer", { version: 1 }).run((ctx) => ctx.call(inner));
    await using env = await openTestEnvironment();
    await env.worker({ serve: [inner, outer] });
    expect(await env.kernel.execute(outer, undefined)).toBe("PAWL_ILLEGAL_TRANSITION");
  });

  test("in a run that was asked to stop begins nothing", async () => {
    await using env = await openTestEnvironment();
    await env.worker({ serve: [counter] });
    const run = await env.kernel.start(counter, { seen: 0, of: 2 }, { runId: "x" });
    await env.settle();
    await run.cancel({ reason: "enough" });
    await expect(run.result()).rejects.toThrow(RunCancelled);
    expect((await env.kernel.api.runs.getRun({ runId: "x" })).run?.incarnation).toBe(1);
  });
});

/** A schema that checks nothing and takes its time. */
function schema<T>(validate: (value: T) => Promise<T>): Schema<T, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: async (value: unknown) => ({ value: await validate(value as T) }),
    },
  };
}

/** How many events each incarnation of a run has, but for signals, which come when they come. */
async function countEvents(env: TestEnvironment, runId: string): Promise<number[]> {
  const counts: number[] = [0];
  for await (const { events } of env.kernel.api.runs.getHistory({ runId })) {
    for (const { type } of events) {
      if (type === "RunContinued") counts.push(0);
      else if (type !== "SignalReceived") counts.push((counts.pop() ?? 0) + 1);
    }
  }
  return counts;
}

describe("a run that lives on by continuing as new", () => {
  test("a hundred times, with a signal each: every incarnation is given as little as the first", async () => {
    const rounds = 100;
    await using env = await openTestEnvironment();
    await env.worker({ serve: [counter] });
    const run = await env.kernel.start(counter, { seen: 0, of: rounds }, { runId: "k" });
    for (let day = 0; day < 10; day++) {
      const signals = Array.from({ length: rounds / 10 }, (_, n) =>
        run.signal("more", { n }, { requestId: `s${day}-${n}` }),
      );
      await Promise.all(signals);
      await env.advance("1d");
    }
    const eventsOfEach = await countEvents(env, "k");
    // The first has its start besides, and the last its end.
    expect(eventsOfEach).toEqual([5, ...Array<number>(rounds - 2).fill(4), 6]);
    expect(await run.result()).toEqual({ seen: rounds, incarnation: rounds });
  });

  test("is suggested after ten thousand calls, at the same place however often the code runs again", async () => {
    const suggested: [string, boolean][] = [];
    const long = workflow("long", { version: 1 }).run(async (ctx) => {
      const many = Array.from({ length: 9_999 }, (_, n) => ctx.step("n", { key: `${n}` }, () => n));
      await Promise.all(many);
      suggested.push(["before", ctx.continueSuggested]);
      await ctx.waitSignal("go");
      suggested.push(["after", ctx.continueSuggested]);
      await ctx.waitSignal("end");
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [long], warmBytesMax: 0 });
    const run = await env.kernel.start(long, undefined, { runId: "l" });
    await env.settle();
    await run.signal("go");
    await env.settle();
    await run.signal("end");
    await run.result();
    // The code began at its top three times: at first, and for each signal.
    expect(suggested).toEqual([
      ["before", false],
      ["before", false],
      ["after", true],
      ["before", false],
      ["after", true],
    ]);
  });
});
