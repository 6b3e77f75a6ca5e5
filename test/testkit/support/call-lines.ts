import { create } from "@bufbuild/protobuf";
import { PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import {
  Fatal,
  json,
  operation,
  type Run,
  type ServedTask,
  task,
  update,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import { type TestEnvironment, testSink } from "@pawl/sdk/testing";
import { jsonPayload } from "../../sdk/support/payloads.js";

type Methods = {
  [Name in keyof WorkflowContext]: WorkflowContext[Name] extends (...args: never[]) => unknown
    ? Name
    : never;
};

/** Name of something that a function may call on its context. */
export type CtxCall = Methods[keyof WorkflowContext];

/** How one call of the context is tried. */
export interface CallLine {
  /** Makes the call, and gives what came of it: JSON. */
  readonly make: (ctx: WorkflowContext) => Promise<unknown>;
  /** What comes of it; undefined: what differs from one execution to the next. */
  readonly gives?: unknown;
  /** What people and other systems do while the function waits. */
  readonly meanwhile?: (env: TestEnvironment, run: Run) => Promise<unknown>;
  /** Points that must be among those that the function goes through, beside those of every function. */
  readonly points: readonly string[];
}

const bank = testSink({ name: "bank" });

const charge = operation("pay.charge", {
  payload: json<number>(),
  result: json<{ readonly receipt: number }>(),
  sink: { kind: "reconcilable" },
  call: (op) => bank.call(op, () => ({ receipt: op.payload })),
  lookup: (op) => bank.lookup<{ receipt: number }>(op),
});

const move = update("move", { input: json<string>(), result: json<string>() });

const double: ServedTask<number, number> = task("double", {
  input: json<number>(),
  output: json<number>(),
}).run((_ctx, n) => n * 2);

const broken = task("broken").run(() => {
  throw new Fatal("it is broken");
});

/** A run that another one starts, tells something, or asks to stop. */
const other: ServedTask<number, string | number> = workflow("other", {
  version: 1,
  input: json<number>(),
}).run(async (ctx, n) => {
  await ctx.step("other", () => n);
  const told = n === 0 ? await ctx.waitSignal<string>("tell") : undefined;
  return told?.status === "received" ? told.value : n;
});

async function approveAll(env: TestEnvironment): Promise<void> {
  for await (const listed of env.kernel.approvals.list()) {
    await env.kernel.approvals.approve(await env.kernel.approvals.get(listed.proposalId));
  }
}

async function answerAll(env: TestEnvironment): Promise<void> {
  for await (const { inputId, version } of env.kernel.inputs.list()) {
    await env.kernel.inputs.provide(inputId, "blue", Number(version));
  }
}

/** Every call that a function may make, tried alone. A call without a line does not compile. */
export const callLines: Readonly<Record<CtxCall, CallLine>> = {
  step: {
    make: (ctx) => ctx.step("one", () => ({ n: 1 })),
    gives: { n: 1 },
    points: ["before step one", "after step one"],
  },
  read: {
    make: (ctx) => ctx.read("one", () => ({ n: 1 })),
    gives: { n: 1 },
    points: ["before step one", "after step one"],
  },
  perform: {
    make: (ctx) => ctx.perform(charge, 5, { target: "card" }),
    gives: { receipt: 5 },
    points: [
      "before intent pay.charge",
      "before sink pay.charge",
      "after sink pay.charge",
      "after observation pay.charge",
    ],
  },
  approve: {
    make: async (ctx) => {
      const said = await ctx.approve(charge, 5, { target: "card", requesterMayDecide: true });
      return said.status === "approved" ? await said.perform() : said.status;
    },
    gives: { receipt: 5 },
    meanwhile: approveAll,
    points: ["before proposal pay.charge", "after proposal pay.charge", "before sink pay.charge"],
  },
  sleep: {
    make: async (ctx) => ({ slept: (await ctx.sleep("nap", "1h")) === undefined }),
    gives: { slept: true },
    points: ["before suspend nap", "after suspend nap"],
  },
  sleepUntil: {
    make: async (ctx) => {
      await ctx.sleepUntil("nap", new Date("2030-01-01T12:00:00Z"));
      return "slept";
    },
    gives: "slept",
    points: ["before suspend nap", "after suspend nap"],
  },
  waitSignal: {
    make: (ctx) => ctx.waitSignal<string>("go"),
    gives: { status: "received", value: "now", from: "local" },
    meanwhile: (_env, run) => run.signal("go", "now", { requestId: "go-1" }),
    points: ["before suspend go", "after suspend go"],
  },
  waitUpdate: {
    make: async (ctx) => {
      const change = await ctx.waitUpdate(move);
      await change.accept(`to ${change.value}`);
      return change.value;
    },
    gives: "Bonn",
    meanwhile: (_env, run) => run.update(move, "Bonn", { updateId: "u-1" }),
    points: ["before suspend move", "before step $answer/0", "after step $answer/0"],
  },
  publish: {
    make: async (ctx) => {
      ctx.publish("city", "Bonn");
      return "published";
    },
    gives: "published",
    points: ["before step $publish/1", "after step $publish/1"],
  },
  ask: {
    make: (ctx) => ctx.ask<string>("colour", { question: "Which colour?" }),
    gives: { status: "answered", value: "blue", by: "local" },
    meanwhile: answerAll,
    points: ["before suspend colour", "after suspend colour"],
  },
  call: {
    make: (ctx) => ctx.call(double, 4),
    gives: 8,
    points: ["before call double", "after call double", "before completion"],
  },
  startCall: {
    make: (ctx) => ctx.startCall(double, 4).result(),
    gives: 8,
    points: ["before call double", "after call double", "before completion"],
  },
  map: {
    make: (ctx) => ctx.map("each", [1, 2], { key: String }, (n) => ctx.step("square", () => n * n)),
    gives: [
      { key: "1", status: "ok", value: 1 },
      { key: "2", status: "ok", value: 4 },
    ],
    points: ["before step each/1/square", "after step each/2/square"],
  },
  all: {
    make: (ctx) => ctx.all([ctx.step("a", () => 1), ctx.call(double, 4)]),
    gives: [1, 8],
    points: ["before step a", "after call double"],
  },
  race: {
    make: (ctx) =>
      ctx.race("first", { nap: ctx.sleep("nap", "7d"), quick: ctx.step("quick", () => 1) }),
    gives: { winner: "quick", value: 1 },
    points: ["before step $race/first", "after step $race/first"],
  },
  any: {
    make: (ctx) =>
      ctx.any("first", {
        bad: ctx.call(broken),
        quick: ctx.sleep("nap", "1h").then(() => "slept"),
      }),
    gives: { winner: "quick", value: "slept" },
    points: ["before step $any/first", "after step $any/first"],
  },
  onRollback: {
    make: async (ctx) => {
      ctx.onRollback(charge, 5, { target: "card" });
      return "noted";
    },
    gives: "noted",
    points: ["before step", "after step"],
  },
  now: {
    make: async (ctx) => (await ctx.now("at")).toISOString(),
    points: ["before step $now/at", "after step $now/at"],
  },
  version: {
    make: (ctx) => ctx.version("patch"),
    gives: true,
    points: ["before step $version/patch", "after step $version/patch"],
  },
  random: {
    make: (ctx) => ctx.random("dice"),
    points: ["before step $random/dice", "after step $random/dice"],
  },
  uuid: {
    make: (ctx) => ctx.uuid("id"),
    points: ["before step $uuid/id", "after step $uuid/id"],
  },
  startChild: {
    make: async (ctx) => {
      const child = await ctx.startChild(other, 3);
      return { id: child.runId !== "", value: await child.result() };
    },
    gives: { id: true, value: 3 },
    points: ["before child other", "after child other", "before step other"],
  },
  child: {
    make: (ctx) => ctx.child(other, 3),
    gives: 3,
    points: ["before child other", "after child other", "before step other"],
  },
  signalRun: {
    make: async (ctx) => {
      const child = await ctx.startChild(other, 0);
      const { status } = await ctx.signalRun(child.runId, "tell", "hello");
      return { status, value: await child.result() };
    },
    gives: { status: "delivered", value: "hello" },
    points: ["before message tell", "after message tell"],
  },
  cancelRun: {
    make: async (ctx) => {
      const child = await ctx.startChild(other, 0);
      const { status } = await ctx.cancelRun(child.runId, "not needed");
      const ended = await child.result().then(
        () => "completed",
        () => "not completed",
      );
      return { status, ended };
    },
    gives: { status: "delivered", ended: "not completed" },
    points: ["before message", "after message"],
  },
  revisePlan: {
    make: (ctx) => {
      const main = { name: "main", kind: ctx.kind };
      const beside = { name: "beside", kind: "double", input: jsonPayload("2") };
      const plan = create(PlanSchema, { tasks: [main, beside], output: "main" });
      return ctx.revisePlan("wider", plan, { reason: "more to do" });
    },
    gives: { planVersion: 2 },
    points: ["before step wider", "after step wider"],
  },
  progress: {
    make: async (ctx) => {
      ctx.progress({ done: 1 });
      return "told";
    },
    gives: "told",
    points: [],
  },
  emit: {
    make: async (ctx) => {
      ctx.emit("token");
      return "shown";
    },
    gives: "shown",
    points: [],
  },
  continueAsNew: {
    make: (ctx) => (ctx.incarnation === 1 ? ctx.continueAsNew() : Promise.resolve("went on")),
    gives: "went on",
    points: ["before completion"],
  },
  log: {
    make: async (ctx) => {
      ctx.log("a line of the test");
      return "written";
    },
    gives: "written",
    points: [],
  },
};

/** What the functions of the lines call and start. */
export const servedBeside: readonly ServedTask[] = [double, broken, other];
