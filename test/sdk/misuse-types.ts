/**
 * Types that must compile, and misuses that must not. Compiled by `tsc -b`; nothing here runs.
 */
import {
  type Client,
  Content,
  type Duration,
  json,
  operation,
  plan,
  type ServedTask,
  type TaskContext,
  type TaskRef,
  task,
} from "@pawl/sdk";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_isSame: Equal<A, B>): void {}
type OutOf<T> = T extends TaskRef<unknown, infer O> ? O : never;

const fetch1 = task("fetch", {
  input: json<{ url: string }>(),
  output: json<{ body: string } | { gone: true }>(),
});
const served = fetch1.run(async (_ctx, input) =>
  input.url === "" ? { gone: true } : { body: input.url },
);
same<OutOf<typeof served>, { body: string } | { gone: true }>(true);
const sum = task("sum", { input: json<number[]>() }).run(async (_c, n) =>
  n.reduce((a, b) => a + b, 0),
);
same<OutOf<typeof sum>, number>(true);
const nothing = task("nothing").run(async () => {});
same<OutOf<typeof nothing>, void>(true);
const noin = task("noin").run((_c, i) => {
  same<typeof i, undefined>(true);
  return "x";
});
// @ts-expect-error date output
task("d").run(async () => ({ at: new Date() }));
// @ts-expect-error wrong output
fetch1.run(async () => ({ bodi: "x" }));
const list: readonly ServedTask[] = [served, sum, nothing, noin];
void list;
const p = plan("p", {
  input: json<{ url: string }>(),
  tasks: {
    a: { task: fetch1 },
    b: { task: sum, needs: ["a"], input: [1, 2] },
    c: { task: nothing, needs: ["a", "b"] },
  },
  output: "b",
});
same<NonNullable<typeof p.types>["output"], number>(true);
same<NonNullable<typeof p.types>["sent"], { url: string }>(true);
const q = plan("q", { tasks: { a: { task: noin } } });
same<NonNullable<typeof q.types>["output"], undefined>(true);
// @ts-expect-error unknown need
plan("p", { tasks: { a: { task: noin, needs: ["zz"] } } });
// @ts-expect-error self need
plan("p", { tasks: { a: { task: noin, needs: ["a"] } } });
const joined = plan("p", {
  tasks: {
    a: { task: noin },
    b: { task: noin, needs: ["a"], join: "any" },
    c: { task: noin, needs: ["a", { task: "b", onFailure: "continue" }], join: { atLeast: 1 } },
  },
  output: "c",
});
void joined;
const bare = { task: noin };
// @ts-expect-error unknown need with a rule
plan("p", { tasks: { bare, b: { task: noin, needs: [{ task: "z", onFailure: "skip" }] } } });
// @ts-expect-error unknown rule
plan("p", { tasks: { bare, b: { task: noin, needs: [{ task: "bare", onFailure: "no" }] } } });
// @ts-expect-error unknown join
plan("p", { tasks: { bare, b: { task: noin, needs: ["bare"], join: "some" } } });
// @ts-expect-error a number that is none
plan("p", { tasks: { bare, b: { task: noin, needs: ["bare"], join: { atLeast: "1" } } } });
// @ts-expect-error unknown output
plan("p", { tasks: { a: { task: noin } }, output: "z" });
// @ts-expect-error run input does not fit the task's
plan("p", { input: json<{ x: number }>(), tasks: { a: { task: fetch1 } } });
// @ts-expect-error wrong own input
plan("p", { tasks: { a: { task: fetch1, input: { url: 1 } } } });
// @ts-expect-error duration
task("x", { timeouts: { lease: "2 days" } });

const refund = operation("payments.refund", {
  payload: json<{ account: string; cents: number }>(),
  result: json<{ id: string }>(),
  callTimeout: "30s",
  sink: { kind: "reconcilable", settle: "5s" },
  call: async (op) => ({ id: op.payload.account }),
  lookup: async (op) => (op.key ? { found: { id: "x" } } : "absent"),
});
const opaque = operation("o", {
  payload: json<{ ok: boolean }>(),
  result: json<{ ok: boolean }>(),
  call: async () => ({ ok: true }),
});
// @ts-expect-error a reconcilable sink without lookup
operation("x", {
  payload: json<{ ok: boolean }>(),
  result: json<{ ok: boolean }>(),
  sink: { kind: "reconcilable" },
  call: async () => ({ ok: true }),
});
operation("x", {
  payload: json<{ ok: boolean }>(),
  result: json<{ ok: boolean }>(),
  sink: { kind: "reconcilable" },
  call: async () => ({ ok: true }),
  // @ts-expect-error a lookup that answers undefined
  lookup: async () => undefined,
});
operation("x", {
  payload: json<{ ok: boolean }>(),
  result: json<{ ok: boolean }>(),
  // @ts-expect-error "2 days" is no duration
  callTimeout: "2 days",
  sink: { kind: "opaque" },
  call: async () => ({ ok: true }),
});
operation("x", {
  payload: json<{ a: number }>(),
  result: json<{ ok: boolean }>(),
  call: async (op) => {
    // @ts-expect-error the payload is frozen
    op.payload.a = 1;
    return { ok: true };
  },
});
declare const ctx: TaskContext;
async function uses() {
  const r = await ctx.perform(refund, { account: "a", cents: 1 }, { target: "a" });
  same<typeof r, { id: string }>(true);
  // @ts-expect-error payload
  await ctx.perform(refund, { account: "a" }, { target: "a" });
  // @ts-expect-error no target
  await ctx.perform(opaque, { ok: true }, {});
  const s = await ctx.step("plan", async () => ({
    cents: 3,
    note: undefined as string | undefined,
  }));
  same<typeof s, { cents: number; note: string | undefined }>(true);
  // @ts-expect-error date
  await ctx.step("q", () => ({ at: new Date() }));
  // @ts-expect-error bigint
  await ctx.step("q", () => ({ n: 1n }));
  // @ts-expect-error map
  await ctx.step("q", { key: "a" }, () => new Map([["a", 1]]));
  // @ts-expect-error nothing
  await ctx.step("q", async () => {});
  await ctx.step("q", () => ({ a: 1, b: ["x"], c: null }));
  const v = await ctx.step("q", { schema: json<{ kind: "a" } | { kind: "b" }>() }, () => ({
    kind: "a",
  }));
  same<typeof v, { kind: "a" } | { kind: "b" }>(true);
  const d = ctx.dependency(fetch1);
  same<typeof d, { body: string } | { gone: true }>(true);
  ctx.progress({ done: 1 });
  ctx.emit({ token: "a" }, { channel: "tokens" });
  ctx.emit(Uint8Array.of(1));
  ctx.emit(new Content("image/png", Uint8Array.of(1)));
  // @ts-expect-error a date is not JSON
  ctx.emit(new Date());
  // @ts-expect-error nothing
  ctx.emit(undefined);
  // @ts-expect-error a date
  ctx.progress(new Date());
}
void uses;
async function uses2() {
  const a = await ctx.step("x", async ({ signal }) => ({ n: signal.aborted ? 1 : 2 }));
  same<typeof a, { n: number }>(true);
  // @ts-expect-error date
  await ctx.read("x", { key: "k" }, async ({ signal }) => ({ n: signal.aborted ? new Date() : 2 }));
  const big: { list: readonly { id: string; tags?: string[] }[] } = await ctx.read("y", () => ({
    list: [{ id: "a" }],
  }));
  void big;
}
void uses2;

declare const client: Client;
async function starts(): Promise<void> {
  const run = await client.start(p, { url: "x" }, { runId: "r", labels: { a: "b" } });
  same<Awaited<ReturnType<typeof run.result>>, number>(true);
  const direct = await client.execute(fetch1, { url: "x" }, { timeout: "5s" });
  same<typeof direct, { body: string } | { gone: true }>(true);
  await client.start(q);
  await client.start(q, undefined, { runId: "r" });
  // @ts-expect-error the input is missing
  await client.start(p);
  // @ts-expect-error another input
  await client.start(p, { uri: "x" });
  // @ts-expect-error a plan without input takes none
  await client.start(q, { url: "x" });
  const done = await client.perform(
    refund,
    { account: "a", cents: 1 },
    { scope: "namespace", key: "k" },
  );
  same<typeof done, { id: string }>(true);
  // @ts-expect-error no key
  await client.perform(refund, { account: "a", cents: 1 }, { scope: "namespace" });
  // @ts-expect-error scope task needs a lease
  await client.perform(refund, { account: "a", cents: 1 }, { scope: "task", key: "k" });
  const good: Duration[] = ["250ms", "1.5s", "48h"];
  // @ts-expect-error no unit
  const bad: Duration = "5";
  // @ts-expect-error a reference has no handler
  await client.worker({ serve: [fetch1] });
  void good;
  void bad;
  for await (const event of run.output<{ token: string }>({ task: "main" })) {
    if (event.kind === "chunk") same<typeof event.value, { token: string }>(true);
    if (event.kind === "dropped") same<typeof event.count, number>(true);
    // @ts-expect-error only a chunk has a value
    void event.value;
  }
}
void starts;
