import {
  type EmbeddedKernel,
  Fatal,
  json,
  type Operation,
  operation,
  plan,
  type Run,
  type ServedTask,
  task,
  update,
  workflow,
} from "@pawl/sdk";
import type { GoldenStore } from "../../support/golden-store.js";

/* Filled the store beside it. It stays as it is. */

const timeout = { timeout: "60s" } as const;

/** Effects of this process. */
const effects: string[] = [];

function effect(name: string, isKnown: boolean): Operation<string, string> {
  return operation(name, {
    payload: json<string>(),
    result: json<string>(),
    callTimeout: "100ms",
    sink: { kind: "opaque", settle: "1ms" },
    call: ({ payload }) => {
      effects.push(`${name} ${payload}`);
      if (!isKnown) throw new Error("the connection broke");
      return `${name} ${payload}`;
    },
  });
}
const send = effect("mail.send", true);
const lose = effect("mail.lose", false);
const move = update("move", { input: json<number>(), result: json<number>() });

/** Has done something, and waits for a signal. */
const order = workflow("order", { version: 1, input: json<string>() }).run(async (ctx, item) => {
  const drawn = await ctx.step("drawn", () => `${item} ${Math.random() < 2}`);
  const sent = await ctx.perform(send, drawn, { target: "post" });
  ctx.publish("sent", sent);
  const go = await ctx.waitSignal<string>("go");
  const again = await ctx.perform(send, "later", { target: "post", key: "later" });
  return `${sent}, ${go.status === "received" ? go.value : go.status}, ${again}`;
});
const asks = workflow("asks", { version: 1 }).run(async (ctx) => {
  const answer = await ctx.ask<string>("who", { question: "Who are you?" });
  return answer.status === "answered" ? answer.value : answer.status;
});
const account = workflow("account", { version: 1, input: json<number>() }).run(
  async (ctx, cents): Promise<string> => {
    const moved = await ctx.waitUpdate(move);
    await moved.accept(cents + moved.value);
    if (cents + moved.value === 0) return `empty after ${ctx.incarnation}`;
    return ctx.continueAsNew(cents + moved.value);
  },
);
const later = task("later", { input: json<string>() }).run((_ctx, text) => text.toUpperCase());
const parent = workflow("parent", { version: 1 }).run(async (ctx) => {
  const called = await ctx.call(later, "called");
  return `${called} ${await ctx.child(later, "child")}`;
});
const doubt = task("doubt").run((ctx) => ctx.perform(lose, "a letter", { target: "post" }));
const broken = task("broken", { retry: { attempts: 1 } }).run(() => {
  throw new Fatal("It is broken.");
});
const large = task("large").run(() => "large ".repeat(7_000));
const sum = task("sum", { output: json<number>() }).run(
  (ctx) => String(ctx.dependencies["large"]).length,
);
const twoTasks = plan("two-tasks", {
  tasks: { large: { task: large }, sum: { task: sum, needs: ["large"] } },
  output: "sum",
});

/** All but the task that is left for later. */
const served: readonly ServedTask[] = [order, asks, account, parent, doubt, broken, large, sum];

/** Waits until a run says that it waits for this. */
async function untilWhy(run: Pick<Run<unknown>, "get">, part: string): Promise<void> {
  for (;;) {
    const { why } = await run.get();
    if (why.includes(part)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function fill(kernel: EmbeddedKernel): Promise<void> {
  await kernel.worker({ serve: served, name: "golden" });
  for (const runId of ["order", "paused", "cancelled", "terminated"]) {
    const run = await kernel.start(order, runId, { runId });
    await untilWhy(run, '"go"');
  }
  await kernel.run("paused").pause({ reason: "for the night" });
  await kernel.run("cancelled").cancel({ reason: "enough" });
  await kernel.run("terminated").terminate({ reason: "at once" });
  await untilWhy(await kernel.start(asks, undefined, { runId: "asks" }), "Who are you?");
  const moving = await kernel.start(account, 5, { runId: "account" });
  await moving.update(move, 2, { updateId: "first", ...timeout });
  await untilWhy(await kernel.start(parent, undefined, { runId: "parent" }), "later");
  await untilWhy(await kernel.start(doubt, undefined, { runId: "doubt" }), "mail.lose");
  await (await kernel.start(twoTasks, undefined, { runId: "done" })).result(timeout);
  await kernel
    .start(broken, undefined, { runId: "failed" })
    .then((run) => run.result(timeout).catch(() => undefined));
  await kernel.perform(send, "a bill", { target: "post", scope: "namespace", key: "bill-1" });
}

async function leave(kernel: EmbeddedKernel): Promise<void> {
  await kernel.worker({ serve: served, name: "golden" });
  await untilWhy(await kernel.start(order, "tail", { runId: "tail" }), '"go"');
  await kernel.run("paused").signal("go", "by night", { requestId: "go" });
}

/** Ends each run that is open. */
async function goOn(kernel: EmbeddedKernel): Promise<unknown> {
  effects.length = 0;
  await kernel.worker({ serve: [...served, later] });
  for (const runId of ["order", "tail"]) await kernel.run(runId).signal("go", "now");
  await kernel.run("paused").resume();
  for await (const { inputId, version } of kernel.inputs.list()) {
    await kernel.inputs.provide(inputId, "a friend", version);
  }
  for await (const review of kernel.reviews.list()) {
    await kernel.reviews.resolve(review, { choice: "done", reason: "it came", result: "yes" });
  }
  const before = await kernel.run("account").update(move, 2, { updateId: "first", ...timeout });
  await kernel.run("account").update(move, -7, { updateId: "second", ...timeout });
  const bill = { target: "post", scope: "namespace", key: "bill-1" } as const;
  const found: Record<string, unknown> = {
    before,
    bill: await kernel.perform(send, "a bill", bill),
  };
  for (const runId of Object.keys(closed).concat(Object.keys(open))) {
    const result = await kernel
      .run(runId)
      .result(timeout)
      .catch((error: Error) => error.name);
    found[runId] = result;
  }
  return { ...found, effects: effects.toSorted() };
}

const open = {
  order: '"go"',
  tail: '"go"',
  paused: "paused",
  asks: "Who are you?",
  account: '"move"',
  parent: "later",
  doubt: "mail.lose",
};
const closed = {
  done: 42_000,
  failed: "RunFailed",
  cancelled: "RunCancelled",
  terminated: "RunTerminated",
};

/** Runs in every state, rows and log. */
export const golden: GoldenStore = {
  fill,
  leave,
  open,
  goOn,
  ends: {
    before: 7,
    bill: "mail.send a bill",
    ...closed,
    order: "mail.send order true, now, mail.send later",
    tail: "mail.send tail true, now, mail.send later",
    paused: "mail.send paused true, by night, mail.send later",
    asks: "a friend",
    account: "empty after 2",
    parent: "CALLED CHILD",
    doubt: "yes",
    effects: ["mail.send later", "mail.send later", "mail.send later"],
  },
};
