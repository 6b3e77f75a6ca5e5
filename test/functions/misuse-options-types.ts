/**
 * More types of workflow functions that must compile, and misuses that must not: values, effects, approvals, children, and who serves and starts.
 * Compiled by `tsc -b`; nothing here runs.
 */
import {
  type ApproveOptions,
  type Client,
  isOk,
  json,
  operation,
  type Run,
  type TaskRef,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_isSame: Equal<A, B>): void {}

interface Refund {
  readonly account: string;
  readonly cents: number;
}
type Outcome =
  | { readonly status: "paid"; readonly id: string }
  | { readonly status: "refused"; readonly why: string };

const refund = operation("refund", {
  payload: json<Refund>(),
  result: json<{ readonly id: string }>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => ({ id: op.key }),
});
const cancel = operation("cancel", {
  payload: json<{ readonly id: string }>(),
  result: json<null>(),
  call: () => null,
});
const half = task("half", { input: json<number>(), output: json<number>() });
const desk = workflow("desk", { version: 1, input: json<Refund>(), output: json<Outcome>() });
const served = desk.run(async (_ctx, { account }) => ({ status: "paid", id: account }));
const open = workflow("open", { version: 1, input: json<Refund>() }).run(async (_ctx, { cents }) =>
  cents > 0 ? { status: "paid" as const, id: "r" } : { status: "refused" as const, why: "empty" },
);
same<
  typeof open extends TaskRef<unknown, infer O> ? O : never,
  { status: "paid"; id: string; why?: never } | { status: "refused"; why: string; id?: never }
>(true);

// What does not come back after a crash is not returned without a schema, however deep it lies.
// @ts-expect-error a map
workflow("w", { version: 1 }).run(async () => new Map([["a", 1]]));
// @ts-expect-error a set in a list
workflow("w", { version: 1 }).run(async () => [{ names: new Set(["a"]) }]);
// @ts-expect-error a bigint
workflow("w", { version: 1 }).run(async () => ({ total: 1n }));
// @ts-expect-error a function
workflow("w", { version: 1 }).run(async () => ({ again: () => 1 }));
// @ts-expect-error a promise inside
workflow("w", { version: 1 }).run(async () => ({ later: Promise.resolve(1) }));
// @ts-expect-error bytes are content, not JSON
workflow("w", { version: 1 }).run(async () => Uint8Array.of(1));
// @ts-expect-error a map of a plain task
task("t").run(() => new Map([["a", 1]]));
// @ts-expect-error a bigint of a plain task
task("t").run(() => ({ n: 1n }));

// A declared union is met by each of its members, and by nothing else.
// @ts-expect-error a member without what belongs to it
desk.run(async () => ({ status: "paid" }));
// @ts-expect-error what belongs to the other member
desk.run(async () => ({ status: "refused", id: "r" }));
// @ts-expect-error no member
desk.run(async () => ({ status: "lost" }));
// @ts-expect-error one way out returns nothing
desk.run(async (_ctx, { cents }) => (cents > 0 ? { status: "paid", id: "r" } : undefined));

// What an operation is.
// @ts-expect-error an idempotent sink says for how long it knows a key
operation("x", { ...refund, sink: { kind: "idempotent" } });
operation("x", {
  payload: json<Refund>(),
  result: json<null>(),
  // @ts-expect-error a number is no duration
  callTimeout: 30,
  call: () => null,
});
operation("x", {
  payload: json<Refund>(),
  result: json<{ readonly id: string }>(),
  // @ts-expect-error another result
  call: () => ({ number: 1 }),
});
operation("x", {
  payload: json<Refund>(),
  result: json<null>(),
  // @ts-expect-error the payload has no such field
  call: (op) => (op.payload.amount === 1 ? null : null),
});

async function effects(ctx: WorkflowContext): Promise<void> {
  const done = await ctx.perform(refund, { account: "a", cents: 1 }, { target: "bank" });
  same<typeof done, { readonly id: string }>(true);
  // @ts-expect-error another payload
  await ctx.perform(refund, { account: "a", cents: "1" }, { target: "bank" });
  // @ts-expect-error more than the payload has
  await ctx.perform(refund, { account: "a", cents: 1, note: "x" }, { target: "bank" });
  // @ts-expect-error the payload of another operation
  await ctx.perform(refund, { id: "r" }, { target: "bank" });
  // @ts-expect-error nothing to act on
  await ctx.perform(cancel, { id: "r" });
  // @ts-expect-error a task is called, not performed
  await ctx.perform(half, 1, { target: "bank" });
  // @ts-expect-error an operation is performed, not called
  await ctx.call(refund, { account: "a", cents: 1 });
  // @ts-expect-error an operation is performed by its reference, not by its name
  await ctx.perform("refund", { account: "a", cents: 1 }, { target: "bank" });
}
void effects;

async function rollbacks(ctx: WorkflowContext): Promise<void> {
  ctx.onRollback(refund, { account: "a", cents: 1 }, { target: "bank" });
  // @ts-expect-error data, no closure
  ctx.onRollback(() => ctx.perform(refund, { account: "a", cents: 1 }, { target: "bank" }));
  // @ts-expect-error the payload of another operation
  ctx.onRollback(refund, { id: "r" }, { target: "bank" });
  // @ts-expect-error nothing to act on
  ctx.onRollback(refund, { account: "a", cents: 1 });
  // @ts-expect-error a task undoes nothing
  ctx.onRollback(half, 1, { target: "bank" });
}
void rollbacks;

async function approvals(ctx: WorkflowContext): Promise<void> {
  const payload: Refund = { account: "a", cents: 1 };
  const how: ApproveOptions = { target: "bank", from: ["role:finance"], expiresIn: "48h" };
  const said = await ctx.approve(refund, payload, how);
  // @ts-expect-error the payload of another operation
  await ctx.approve(cancel, payload, how);
  // @ts-expect-error whoever may decide are several
  await ctx.approve(refund, payload, { ...how, from: "role:finance" });
  // @ts-expect-error "2 days" is no duration
  await ctx.approve(refund, payload, { ...how, expiresIn: "2 days" });
  // @ts-expect-error an age is a duration
  await ctx.approve(refund, payload, { ...how, guards: [{ read: "rate", maxAge: 60 }] });
  // @ts-expect-error a guard holds a value, or a read with its age
  await ctx.approve(refund, payload, { ...how, guards: [{ read: "rate" }] });
  // @ts-expect-error what is revised is the answer, not its id
  await ctx.approve(refund, payload, { ...how, revises: "1-p0" });
  if (said.status === "approved") {
    // @ts-expect-error exactly what was approved is performed: nothing else can be given
    await said.perform({ account: "a", cents: 2 });
  } else {
    // @ts-expect-error nothing was approved
    await said.perform();
  }
  // @ts-expect-error there is no such answer
  if (said.status === "maybe") return;
}
void approvals;

async function waits(ctx: WorkflowContext): Promise<void> {
  // @ts-expect-error "1 week" is no duration
  await ctx.waitSignal("paid", { timeout: "1 week" });
  // @ts-expect-error a signal has a name
  await ctx.waitSignal({ timeout: "1d" });
  // @ts-expect-error a point of time is a Date
  await ctx.sleepUntil("hour", "2025-01-31T02:00:00Z");
  // @ts-expect-error what is asked is a question
  await ctx.ask("days", "How many days?");
  const days = await ctx.ask("days", { question: "How many days?", as: json<number>() });
  if (days.status === "answered") same<typeof days.value, number>(true);
  // @ts-expect-error there is no such answer
  if (days.status === "approved") return;
  const paid = await ctx.waitSignal("paid", { schema: json<Refund>(), timeout: "1d" });
  if (paid.status === "received") same<typeof paid.value, Refund>(true);
}
void waits;

async function children(ctx: WorkflowContext): Promise<void> {
  const ended = await ctx.child(served, { account: "a", cents: 1 });
  same<typeof ended, Outcome>(true);
  const begun = await ctx.startChild(served, { account: "a", cents: 1 });
  same<Awaited<ReturnType<typeof begun.result>>, Outcome>(true);
  // @ts-expect-error another input
  await ctx.child(served, { account: "a" });
  // @ts-expect-error the input is missing
  await ctx.child(served);
  // @ts-expect-error nothing else can become of it
  await ctx.child(served, { account: "a", cents: 1 }, { parentClose: "forget" });
  // @ts-expect-error not awaited, it is no run yet
  ctx.startChild(served, { account: "a", cents: 1 }).result();
}
void children;

async function joins(ctx: WorkflowContext): Promise<void> {
  // @ts-expect-error concurrency is a number
  await ctx.map("m", [1], { key: String, concurrency: "all" }, async (n) => n);
  // @ts-expect-error an item is awaited: its code is async
  await ctx.map("m", [1], { key: String }, (n) => n);
  // @ts-expect-error enough is a number
  await ctx.map("m", [1], { key: String, join: { atLeast: "3" } }, async (n) => n);
  const items = await ctx.map("m", [1], { key: String }, (n) => ctx.call(half, n));
  const values: number[] = items.filter(isOk).map(({ value }) => value);
  // @ts-expect-error who failed has no value
  if (items[0]?.status === "failed") void items[0].value;
  void values;
}
void joins;

declare const client: Client;
declare const run: Run<Outcome>;
async function clients(): Promise<void> {
  // @ts-expect-error a reference serves nothing
  await client.worker({ serve: [desk] });
  await client.worker({ serve: [served, open] });
  // @ts-expect-error another input
  await client.start(served, { account: "a" });
  // @ts-expect-error a workflow is started by its reference, not by its name
  await client.start("desk", { account: "a", cents: 1 });
  // @ts-expect-error "soon" is no duration
  await run.result({ timeout: "soon" });
  const outcome = await run.result();
  // @ts-expect-error only what was paid has an id
  void outcome.id;
  if (outcome.status === "paid") same<typeof outcome.id, string>(true);
  // @ts-expect-error nothing else can be done with a run of that id
  await client.start(served, { account: "a", cents: 1 }, { onExisting: "again" });
}
void clients;
