/**
 * Types of workflow functions that must compile, and misuses that must not. Compiled by `tsc -b`; nothing here runs.
 */
import {
  isOk,
  json,
  operation,
  type TaskContext,
  type TaskRef,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_isSame: Equal<A, B>): void {}
type OutOf<T> = T extends TaskRef<unknown, infer O> ? O : never;

interface Refund {
  readonly account: string;
  readonly cents: number;
}
const refund = operation("refund", {
  payload: json<Refund>(),
  result: json<{ readonly id: string }>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => ({ id: op.key }),
});
const half = task("half", { input: json<{ n: number }>(), output: json<number>() });
const tick = task("tick");

// What a workflow is.
const inferred = workflow("w", { version: 1 }).run(async () => ({ a: 1 }));
same<OutOf<typeof inferred>, { a: number }>(true);
const silent = workflow("w", { version: 1 }).run(async () => {});
same<OutOf<typeof silent>, void>(true);
const paid = workflow("w", {
  version: 1,
  input: json<Refund>(),
  output: json<{ status: "paid"; id: string } | { status: "not-paid" }>(),
}).run(async (_ctx, input) =>
  input.cents > 0 ? { status: "paid", id: input.account } : { status: "not-paid" },
);
same<OutOf<typeof paid>, { status: "paid"; id: string } | { status: "not-paid" }>(true);
// @ts-expect-error a workflow without a version
workflow("w", {});
// @ts-expect-error what is not reached is asked about, or allowed
workflow("w", { version: 1, unvisited: "ignore" });
workflow("w", { version: 1 }).run(async (ctx) => {
  same<Awaited<ReturnType<typeof ctx.version>>, boolean>(true);
  // @ts-expect-error a change has a name
  await ctx.version();
  // @ts-expect-error what tells rounds apart is a text
  await ctx.version("patch", { key: 1 });
});
// @ts-expect-error a version is a number
workflow("w", { version: "1" });
// @ts-expect-error the queue of a workflow is its name and version
workflow("w", { version: 1, queue: "other" });
// @ts-expect-error "2 days" is no duration
workflow("w", { version: 1, timeouts: { lease: "2 days" } });
// @ts-expect-error a date does not come back
workflow("w", { version: 1 }).run(async () => ({ at: new Date() }));
// @ts-expect-error what is returned is not what is declared
workflow("w", { version: 1, output: json<{ a: number }>() }).run(async () => ({ b: 1 }));
// @ts-expect-error a function is async
workflow("w", { version: 1 }).run(() => 1);

async function steps(ctx: WorkflowContext): Promise<void> {
  // @ts-expect-error a date does not come back
  await ctx.step("s", () => new Date());
  // @ts-expect-error nor does one deep inside
  await ctx.step("s", async () => ({ rows: [{ at: new Date() }] }));
  // @ts-expect-error nor a bigint
  await ctx.step("s", () => 1n);
  // @ts-expect-error nor nothing
  await ctx.step("s", () => undefined);
  // @ts-expect-error nor a map, from a read either
  await ctx.read("s", () => new Map<string, number>());
  // @ts-expect-error nor a class with methods
  await ctx.step("s", () => new URL("http://a.example"));
  const at = await ctx.now("at");
  same<typeof at, Date>(true);
  // @ts-expect-error what is recorded has a name
  await ctx.random();
}
void steps;

async function calls(ctx: WorkflowContext): Promise<void> {
  const n = await ctx.call(half, { n: 4 }, { key: "a", timeouts: { startToClose: "1.5s" } });
  same<typeof n, number>(true);
  await ctx.call(tick);
  await ctx.call(tick, undefined, { key: "a" });
  await ctx.call(paid, { account: "a", cents: 1 });
  // @ts-expect-error the input is missing
  await ctx.call(half);
  // @ts-expect-error another input
  await ctx.call(half, { m: 4 });
  // @ts-expect-error another type of input
  await ctx.call(half, { n: "4" });
  // @ts-expect-error a task without input takes none
  await ctx.call(tick, { n: 4 });
  // @ts-expect-error "soon" is no duration
  await ctx.call(half, { n: 4 }, { timeouts: { startToClose: "soon" } });
  // @ts-expect-error a task is called by its reference, not by its name
  await ctx.call("half", { n: 4 });
  // @ts-expect-error 5 has no unit
  await ctx.sleep("nap", "5");
  // @ts-expect-error a number is no duration
  await ctx.sleep("nap", 5_000);
  // @ts-expect-error milliseconds are "ms"
  await ctx.sleep("nap", "5 msec");
  // @ts-expect-error a wait has a name
  await ctx.sleep("1s");
}
void calls;

async function unions(ctx: WorkflowContext): Promise<unknown> {
  const payload: Refund = { account: "a", cents: 1 };
  const how = { target: "bank", from: ["role:finance"] };
  // @ts-expect-error not awaited, it has no status
  if (ctx.approve(refund, payload, how).status === "approved") return;
  const said = await ctx.approve(refund, payload, how);
  // @ts-expect-error only what was approved can be performed
  await said.perform();
  if (said.status === "approved")
    same<Awaited<ReturnType<typeof said.perform>>, { readonly id: string }>(true);
  // @ts-expect-error another payload
  await ctx.approve(refund, { account: "a" }, how);
  // @ts-expect-error nothing to act on
  await ctx.approve(refund, payload, { from: ["role:finance"] });

  const answer = await ctx.ask<number>("q", { question: "?" });
  // @ts-expect-error only an answer has a value
  void answer.value;
  const signal = await ctx.waitSignal<number>("s", { timeout: "1h" });
  // @ts-expect-error it may have timed out
  void signal.value;
  // @ts-expect-error not awaited
  void ctx.waitSignal<number>("s").value;

  const items = await ctx.map("m", [1, 2], { key: String }, (n) => ctx.call(half, { n }));
  // @ts-expect-error only an item that succeeded has a value
  void items.map((item) => item.value);
  // @ts-expect-error only one that failed has an error
  void items.filter(isOk).map((item) => item.error);
  const values = items.filter(isOk).map(({ value }) => value);
  same<typeof values, number[]>(true);
  // @ts-expect-error not awaited
  void ctx.map("m", [1], { key: String }, async (n) => n).filter(isOk);
  // @ts-expect-error items have keys
  await ctx.map("m", [1], {}, async (n) => n);
  // @ts-expect-error a key is a text
  await ctx.map("m", [1], { key: (n) => n }, async (n) => n);
  // @ts-expect-error a join is "all" or at least so many
  await ctx.map("m", [1], { key: String, join: "most" }, async (n) => n);

  const won = await ctx.race("r", { call: ctx.call(half, { n: 1 }), time: ctx.sleep("t", "1h") });
  if (won.winner === "call") same<typeof won.value, number>(true);
  // @ts-expect-error who won decides what the value is
  const won1: number = won.value;
  // @ts-expect-error nobody of that name runs
  if (won.winner === "timer") return won1;
  // @ts-expect-error not awaited
  void ctx.race("r", { one: ctx.now("n") }).winner;
  // @ts-expect-error entries have names
  await ctx.race("r", [ctx.now("n")]);
  const [a, b] = await ctx.all([ctx.call(half, { n: 1 }), ctx.uuid("u")]);
  same<typeof a, number>(true);
  same<typeof b, string>(true);
  return undefined;
}
void unions;

// A helper of workflows does not take the ctx of a plain task, and a plain task's ctx has no calls.
function helper(ctx: WorkflowContext): Promise<number> {
  return ctx.call(half, { n: 1 });
}
task("plain").run(async (ctx) => {
  // @ts-expect-error the ctx of a plain task
  await helper(ctx);
  // @ts-expect-error a plain task calls nothing
  await ctx.call(half, { n: 1 });
});
// What takes the ctx of any task takes that of a workflow, but for what only a plan gives.
const note = (ctx: Pick<TaskContext, "step">): Promise<number> => ctx.step("n", () => 1);
workflow("w", { version: 1 }).run(async (ctx) => {
  await note(ctx);
  // @ts-expect-error a function needs no tasks of a plan
  void ctx.dependencies;
  return helper(ctx);
});
