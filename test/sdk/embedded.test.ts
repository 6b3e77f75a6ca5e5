import { join } from "node:path";
import {
  Conflict,
  connect,
  Fatal,
  fromQueue,
  json,
  openKernel,
  operation,
  plan,
  Refused,
  RetryAfter,
  RunCancelled,
  type RunEvent,
  RunFailed,
  task,
} from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";
import { gate } from "./support/worker-bench.js";

const each = eachEmbedded();

const fetchPage = task("fetch", { input: json<{ url: string }>() }).run(async (_ctx, { url }) => ({
  body: `<${url}>`,
}));
const count = task("count", { input: json<{ url: string }>() }).run(async (ctx) => ({
  length: ctx.dependency(fetchPage).body.length,
}));

test("a plan runs, each task with what it needs, and its output is typed", async () => {
  const pages = plan("pages", {
    input: json<{ url: string }>(),
    tasks: { fetch: { task: fetchPage }, count: { task: count, needs: ["fetch"] } },
    output: "count",
  });
  await each.kernel.worker({ serve: [fetchPage, count] });
  const run = await each.kernel.start(
    pages,
    { url: "abc" },
    { runId: "pages-1", labels: { team: "x" } },
  );
  expect(run.existing).toBe(false);
  expect(await run.result({ timeout: "10s" })).toEqual({ length: 5 });
  const again = await each.kernel.start(pages, { url: "abc" }, { runId: "pages-1" });
  expect(again.existing).toBe(true);
  expect(await again.result({ timeout: "10s" })).toEqual({ length: 5 });
  await expect(
    each.kernel.start(pages, { url: "other" }, { runId: "pages-1" }),
  ).rejects.toBeInstanceOf(Conflict);
});

test("a task alone can be started, with nothing in and nothing out", async () => {
  const nothing = task("nothing").run(() => undefined);
  await each.kernel.worker({ serve: [nothing] });
  expect(await each.kernel.execute(nothing, undefined, { timeout: "10s" })).toBeUndefined();
});

test("many runs at once", async () => {
  await each.kernel.worker({ serve: [fetchPage], slots: 50 });
  const outputs = await Promise.all(
    Array.from({ length: 300 }, (_, number) =>
      each.kernel.execute(fetchPage, { url: String(number) }),
    ),
  );
  expect(outputs.map(({ body }) => body)).toEqual(
    Array.from({ length: 300 }, (_, number) => `<${number}>`),
  );
});

test("a recorded step and a settled operation are not done again by the next attempt", async () => {
  const did: string[] = [];
  const charge = operation("charge", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    call: (op) => {
      did.push(`charge ${op.payload.cents} ${op.key}`);
      return { id: "r-1" };
    },
  });
  const paying = task("paying").run(async (ctx) => {
    const cents = await ctx.step("price", () => {
      did.push("price");
      return 500;
    });
    const receipt = await ctx.perform(charge, { cents }, { target: "acct" });
    ctx.progress({ paid: true });
    if (ctx.attempt < 3) throw new RetryAfter("10ms", `attempt ${ctx.attempt}`);
    return { ...receipt, attempt: ctx.attempt, lastProgress: JSON.stringify(ctx.lastProgress) };
  });
  await each.kernel.worker({ serve: [paying] });
  expect(await each.kernel.execute(paying, undefined, { runId: "pay", timeout: "20s" })).toEqual({
    id: "r-1",
    attempt: 3,
    lastProgress: '{"paid":true}',
  });
  expect(did).toEqual(["price", "charge 500 task/default/pay/1/main/charge/1"]);
});

test("a refusal of the sink is thrown the same at every attempt", async () => {
  const seen: unknown[] = [];
  let calls = 0;
  const charge = operation("charge", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    call: () => {
      calls++;
      throw new Refused("no funds", { sinkCode: "declined", data: { limit: 1 } });
    },
  });
  const paying = task("paying").run(async (ctx) => {
    try {
      await ctx.perform(charge, { cents: 5 }, { target: "acct" });
    } catch (error) {
      seen.push(error);
    }
    if (ctx.attempt === 1) throw new RetryAfter("1ms");
    return null;
  });
  await each.kernel.worker({ serve: [paying] });
  expect(await each.kernel.execute(paying, undefined, { timeout: "10s" })).toBeNull();
  expect(calls).toBe(1);
  expect(seen).toMatchObject([
    { name: "Refused", message: "no funds", sinkCode: "declined", data: { limit: 1 } },
    { name: "Refused", message: "no funds", sinkCode: "declined", data: { limit: 1 } },
  ]);
});

test("a failed run throws its failure with its chain", async () => {
  const broken = task("broken").run(() => {
    throw new Fatal("no use", { cause: new TypeError("deep"), data: { why: 7 } });
  });
  await each.kernel.worker({ serve: [broken] });
  const error = await each.kernel
    .execute(broken, undefined, { timeout: "10s" })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunFailed);
  let found: unknown = error;
  while (found instanceof Error && Reflect.get(found, "kind") !== "Fatal") found = found.cause;
  expect(found).toMatchObject({
    message: "no use",
    data: { why: 7 },
    cause: { kind: "TypeError" },
  });
});

test("a cancelled run aborts its attempt, and ends as cancelled", async () => {
  const { promise: started, open } = gate();
  const slow = task("slow").run(async (ctx) => {
    open();
    await new Promise((_resolve, reject) =>
      ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)),
    );
  });
  await each.kernel.worker({ serve: [slow] });
  const run = await each.kernel.start(slow);
  await started;
  expect(await run.cancel({ reason: "enough" })).toMatchObject({ existing: false });
  await expect(run.result({ timeout: "10s" })).rejects.toBeInstanceOf(RunCancelled);
});

test("the events of a run are watched to its end", async () => {
  await each.kernel.worker({ serve: [fetchPage] });
  const run = await each.kernel.start(fetchPage, { url: "x" });
  const events: RunEvent[] = [];
  for await (const event of run.watch()) events.push(event);
  expect(events.map(({ number }) => number)).toEqual(events.map((_, place) => place + 1));
  expect(events[0]?.type).toBe("RunStarted");
  expect(events.at(-1)?.position).toBeDefined();
});

test("an effect without a worker happens once for its key, and its payload is compared", async () => {
  let calls = 0;
  const charge = operation("charge", {
    payload: json<{ cents: number }>(),
    result: json<{ id: string }>(),
    sink: { kind: "idempotent", keyWindow: "1h" },
    call: (op) => {
      calls++;
      return { id: `r-${op.payload.cents}` };
    },
  });
  const once = { scope: "namespace", key: "invoice-4711" } as const;
  expect(await each.kernel.perform(charge, { cents: 5 }, once)).toEqual({ id: "r-5" });
  expect(await each.kernel.perform(charge, { cents: 5 }, once)).toEqual({ id: "r-5" });
  await expect(each.kernel.perform(charge, { cents: 6 }, once)).rejects.toBeInstanceOf(Conflict);
  expect(calls).toBe(1);
});

test("content above the inline bound arrives whole", async () => {
  const big = "ü".repeat(60_000);
  const echo = task("echo", { input: json<{ text: string }>() }).run((_ctx, { text }) => ({
    text,
    length: text.length,
  }));
  await each.kernel.worker({ serve: [echo] });
  const output = await each.kernel.execute(echo, { text: big }, { timeout: "10s" });
  expect(output).toEqual({ text: big, length: 60_000 });
});

test("an output above the message bound fails its task for good, and says so", async () => {
  let attempts = 0;
  const huge = task("huge").run(() => {
    attempts++;
    return "x".repeat(5_000_000);
  });
  await each.kernel.worker({ serve: [huge] });
  const error = await each.kernel
    .execute(huge, undefined, { timeout: "10s" })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunFailed);
  expect(String(error)).toContain("4000000 bytes");
  expect(attempts).toBe(1);
});

test("what was acknowledged goes on after the kernel was opened anew", async () => {
  const run = await each.kernel.start(fetchPage, { url: "x" }, { runId: "later" });
  expect(run.existing).toBe(false);
  await each.kernel.close();
  each.kernel = await openKernel({ dir: each.dir });
  await each.kernel.worker({ serve: [fetchPage] });
  expect(await each.kernel.run("later", fetchPage).result({ timeout: "10s" })).toEqual({
    body: "<x>",
  });
});

test("an effect with large content is called with what was recorded, with and without a worker", async () => {
  const seen: number[] = [];
  const send = operation("send", {
    payload: json<{ text: string }>(),
    result: json<{ text: string }>(),
    sink: { kind: "idempotent", keyWindow: "1h" },
    call: (op) => {
      seen.push(op.payload.text.length);
      return { text: op.payload.text };
    },
  });
  const text = "é".repeat(100_000);
  const sending = task("sending").run((ctx) => ctx.perform(send, { text }, { target: "t" }));
  await each.kernel.worker({ serve: [sending] });
  expect(await each.kernel.execute(sending, undefined, { timeout: "20s" })).toEqual({ text });
  const once = { scope: "namespace", key: "big" } as const;
  expect(await each.kernel.perform(send, { text }, once)).toEqual({ text });
  expect(await each.kernel.perform(send, { text }, once)).toEqual({ text });
  expect(seen).toEqual([100_000, 100_000]);
});

test("a task that a plan sends to another queue is served from there", async () => {
  const greet = task("greet").run((ctx) => ctx.kind);
  const elsewhere = plan("elsewhere", {
    tasks: { a: { task: greet }, b: { task: greet, queue: "slow" } },
    output: "b",
  });
  await each.kernel.worker({ serve: [greet, fromQueue(greet, "slow")] });
  expect(await each.kernel.execute(elsewhere, undefined, { timeout: "20s" })).toBe("greet");
  await expect(each.kernel.worker({ serve: [greet, greet] })).rejects.toThrow(/given twice/);
});

test("a worker that the kernel refuses is told, and does not try for ever", async () => {
  const other = connect({ url: `unix:${join(each.dir, "kernel.sock")}`, namespace: "nowhere" });
  await expect(other.worker({ serve: [fetchPage] })).rejects.toMatchObject({
    code: "PAWL_NAMESPACE_NOT_FOUND",
  });
  await expect(other.start(fetchPage, { url: "x" })).rejects.toMatchObject({
    code: "PAWL_NAMESPACE_NOT_FOUND",
  });
  await other.close();
});

test("a start that does not fit into a message is refused before it is sent", async () => {
  const big = { url: "x".repeat(3_900_000) };
  const padding = "y".repeat(300_000);
  const padded = plan("padded", {
    input: json<{ url: string }>(),
    tasks: { a: { task: fetchPage, input: { url: padding } } },
  });
  await expect(each.kernel.start(padded, big)).rejects.toMatchObject({ code: "PAWL_TOO_LARGE" });
});
