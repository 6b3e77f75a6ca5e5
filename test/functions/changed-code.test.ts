import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { CallFailed, json, operation, task, type WorkflowContext, workflow } from "@pawl/sdk";
import { beforeEach, describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { type Code, reviewOf, startOld } from "./support/change-code.js";
import { recordedFailure } from "./support/run-code.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

let effects: string[] = [];
beforeEach(() => {
  effects = [];
});

const cents = json<{ readonly cents: number }>();
const number = json<number>();
function payment(name: string) {
  return operation(name, {
    payload: cents,
    result: number,
    sink: { kind: "idempotent", keyWindow: "1d" },
    call: (op) => {
      effects.push(name);
      return op.payload.cents;
    },
  });
}
const refund = payment("payments.refund");
const charge = payment("payments.charge");
const double = task("double", { input: number }).run((_ctx, n) => n * 2);
const triple = task("triple", { input: number }).run((_ctx, n) => n * 3);
const pay = task("pay").run(() => "paid");
const one = workflow("one", { version: 1 }).run(async () => 1);
const two = workflow("two", { version: 1 }).run(async () => 2);
const serve = [double, triple, pay, one, two];

/** Code that does something, waits for "go", and ends. */
const thenGo =
  (first: (ctx: WorkflowContext) => Promise<unknown>): Code =>
  async (ctx) => {
    const value = await first(ctx);
    await ctx.waitSignal("go");
    return String(value);
  };

type Change = readonly [what: string, before: Code, after: Code, difference: readonly string[]];

const changes: readonly Change[] = [
  [
    "a race without the entry that won it",
    thenGo(async (ctx) => (await ctx.race("r", { old: ctx.step("s", () => 1) })).winner),
    thenGo(async (ctx) => {
      const won = await ctx.race("r", { renamed: ctx.step("s", () => 1) }).catch(() => undefined);
      return won?.winner;
    }),
    ['race "r"', 'the entry "old"'],
  ],
  [
    "another payload of an effect",
    thenGo((ctx) => ctx.perform(refund, { cents: 1 }, { target: "bank" })),
    thenGo((ctx) => ctx.perform(refund, { cents: 2 }, { target: "bank" })),
    ["payments.refund", "payload"],
  ],
  [
    "another effect under one key",
    thenGo((ctx) => ctx.perform(refund, { cents: 1 }, { target: "bank", key: "pay" })),
    thenGo((ctx) => ctx.perform(charge, { cents: 1 }, { target: "bank", key: "pay" })),
    [
      'operation "payments.refund" under "pay", which is recorded',
      'asks for operation "payments.charge" under "pay"',
    ],
  ],
  [
    "another content of what a person is asked to approve",
    async (ctx) => {
      const said = ctx.approve(refund, { cents: 1 }, { target: "bank", from: ["role:x"] });
      await ctx.waitSignal("go");
      return (await said).status;
    },
    async (ctx) => {
      const said = ctx.approve(refund, { cents: 2 }, { target: "bank", from: ["role:x"] });
      await ctx.waitSignal("go");
      return (await said).status;
    },
    ["payments.refund", "proposed with the recorded payload"],
  ],
  [
    "another input of a called task",
    thenGo((ctx) => ctx.call(double, 1)),
    thenGo((ctx) => ctx.call(double, 2)),
    ['task "double"', "recorded input"],
  ],
  [
    "another task under one key",
    thenGo((ctx) => ctx.call(double, 1, { key: "k" })),
    thenGo((ctx) => ctx.call(triple, 1, { key: "k" })),
    ['called task "double/k", which is recorded', 'asks for called task "triple/k"'],
  ],
  [
    "a call where a step was",
    thenGo((ctx) => ctx.step("pay", () => "by hand")),
    thenGo((ctx) => ctx.call(pay)),
    ['step "pay", which is recorded', 'asks for called task "pay"'],
  ],
  [
    "a step where a call was",
    thenGo((ctx) => ctx.call(pay)),
    thenGo((ctx) =>
      ctx.step("pay", () => {
        effects.push("by hand");
        return "by hand";
      }),
    ),
    ['called task "pay", which is recorded', 'asks for step "pay"'],
  ],
  [
    "another workflow for a child",
    thenGo((ctx) => ctx.child(one, undefined, { name: "kid" })),
    thenGo((ctx) => ctx.child(two, undefined, { name: "kid" })),
    ["kid"],
  ],
  [
    "another kind of wait, where the first has ended",
    async (ctx) => (await ctx.waitSignal("go")).status,
    async (ctx) => {
      await ctx.sleep("go", "1h");
      return "slept";
    },
    ['wait "go"', "a timer", '"signal"'],
  ],
  [
    "another kind of wait, where the first is open",
    async (ctx) => {
      const late = ctx.waitSignal("late");
      await ctx.waitSignal("go");
      return (await late).status;
    },
    async (ctx) => {
      const late = ctx.sleep("late", "1h");
      await ctx.waitSignal("go");
      await late;
      return "slept";
    },
    ['wait "late"', "for signal late, as is recorded", "for timer"],
  ],
];

describe("code that changed under one name and version", () => {
  test("gets what is recorded under a name, whatever it would make of it now", async () => {
    const old = await startOld(
      each.kernel,
      thenGo((ctx) => ctx.step("draw", () => 1)),
    );
    await old.deploy(thenGo((ctx) => ctx.step("draw", () => 2)));
    await old.run.signal("go");
    expect(await old.run.result(timeout)).toBe("1");
  });

  test.each(changes)(
    "that asks for %s stops with the difference, and does nothing",
    async (...row) => {
      const [, before, after, difference] = row;
      const old = await startOld(each.kernel, before, serve);
      const done = [...effects];
      await old.deploy(after);
      await old.run.signal("go");
      const review = await reviewOf(each.kernel);
      for (const part of difference) {
        expect(review.known).toContain(part);
      }
      expect(review.known).toContain("ctx.version");
      const { status, why } = await old.run.get();
      expect(status).toBe(RunStatus.RUNNING);
      expect(why).toContain("waits for a person");
      expect(review.choices).toEqual(["retry", "done", "skip", "fail"]);
      expect(effects).toEqual(done);
    },
  );
});

describe("code that does not fit", () => {
  test("loses nothing: the old code is brought back, and the review resolved with retry", async () => {
    const before = thenGo((ctx) =>
      ctx.perform(refund, { cents: 1 }, { target: "bank", key: "pay" }),
    );
    const after = thenGo((ctx) =>
      ctx.perform(charge, { cents: 1 }, { target: "bank", key: "pay" }),
    );
    const old = await startOld(each.kernel, before);
    await old.deploy(after);
    await old.run.signal("go");
    const review = await reviewOf(each.kernel);
    await old.deploy(before);
    await each.kernel.reviews.resolve(review, { choice: "retry", reason: "rolled back" });
    expect(await old.run.result(timeout)).toBe("1");
    expect(effects).toEqual(["payments.refund"]);
  });

  test("may be failed by a person, with the difference on record", async () => {
    const old = await startOld(
      each.kernel,
      thenGo((ctx) => ctx.call(double, 1)),
      serve,
    );
    await old.deploy(thenGo((ctx) => ctx.call(double, 2)));
    await old.run.signal("go");
    const review = await reviewOf(each.kernel);
    await each.kernel.reviews.resolve(review, { choice: "fail", reason: "not worth it" });
    const error: unknown = await old.run.result(timeout).catch((thrown: unknown) => thrown);
    expect(recordedFailure(error).message).toContain("not worth it");
    expect(review.failures.at(-1)?.message).toContain('task "double"');
  });

  test("cannot go on by catching the difference", async () => {
    const old = await startOld(
      each.kernel,
      thenGo((ctx) => ctx.call(double, 1)),
      serve,
    );
    await old.deploy(async (ctx) => {
      const value = await ctx.call(double, 2).catch(() => "caught");
      await ctx.waitSignal("go").catch(() => undefined);
      return String(value);
    });
    await old.run.signal("go");
    expect((await reviewOf(each.kernel)).known).toContain('task "double"');
  });

  test("may move lines, and add new ones: names find what is recorded", async () => {
    const perform = (ctx: WorkflowContext) => ctx.perform(refund, { cents: 1 }, { target: "bank" });
    const old = await startOld(each.kernel, thenGo(perform));
    await old.deploy(async (ctx) => {
      const charged = await ctx.perform(charge, { cents: 5 }, { target: "bank" });
      await ctx.waitSignal("go");
      return `${charged} ${await perform(ctx)}`;
    });
    await old.run.signal("go");
    expect(await old.run.result(timeout)).toBe("5 1");
    expect(effects).toEqual(["payments.refund", "payments.charge"]);
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
