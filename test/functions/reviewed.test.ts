import {
  type EmbeddedKernel,
  json,
  OperationAbandoned,
  OutcomeUnknown,
  operation,
  type Run,
  RunFailed,
  type WorkerOptions,
  workflow,
} from "@pawl/sdk";
import { beforeEach, describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

let calls: string[] = [];
let steps: string[] = [];
let answers: ("unknown" | "paid")[] = [];

/** Cannot be repeated safely, and cannot be looked up. */
const pay = operation("pay", {
  payload: json<{ cents: number }>(),
  result: json<string>(),
  callTimeout: "200ms",
  sink: { kind: "opaque", settle: "20ms" },
  call: ({ payload }) => {
    calls.push(`pay ${payload.cents}`);
    if ((answers.shift() ?? "paid") === "unknown") throw new OutcomeUnknown("the line went dead");
    return "paid";
  },
});

function double(name: string, value: number): number {
  steps.push(name);
  return value * 2;
}

/** Pays, and does something else meanwhile. */
const order = workflow("order", { version: 1, output: json<(number | string)[]>() }).run(
  async (ctx) => {
    const seen: (number | string)[] = [];
    const paid = ctx
      .perform(pay, { cents: 5 }, { target: "bank" })
      .then((said) => seen.push(said))
      .catch((error: unknown) => {
        if (!(error instanceof OperationAbandoned)) throw error;
        seen.push("abandoned");
      });
    const others = (async () => {
      for (const name of ["one", "two"]) {
        const said = await ctx.waitSignal<number>(name);
        if (said.status === "received")
          seen.push(await ctx.step(name, () => double(name, said.value)));
      }
    })();
    await ctx.all([paid, others]);
    return seen;
  },
);

beforeEach(() => {
  calls = [];
  steps = [];
  answers = ["unknown"];
});

async function begin(options: Partial<WorkerOptions> = {}): Promise<Run<(number | string)[]>> {
  await each.kernel.worker({ serve: [order], ...options });
  return each.kernel.start(order, undefined, { runId: "o" });
}

async function reviewOf(kernel: EmbeddedKernel): Promise<{ reviewId: string; version: number }> {
  const found: { reviewId: string; version: number }[] = [];
  await expect
    .poll(async () => {
      for await (const review of kernel.reviews.list()) found.push(review);
      return found.length;
    })
    .toBeGreaterThan(0);
  const [review] = found;
  if (review === undefined) throw new Error("no review");
  return review;
}

/** Waits until this step is made, and the function waits for what comes after it. */
async function made(run: Run<unknown>, name: string): Promise<void> {
  await expect.poll(() => steps).toContain(name);
  await expect.poll(async () => (await run.get()).why).toContain("waits for a person");
}

describe.each([
  ["in memory", {}],
  ["read again from its records", { warmBytesMax: 0 }],
])("while a person must decide about one operation of a function that is %s", (_, options) => {
  test("its other branches go on, and get what they wait for", async () => {
    const run = await begin(options);
    const review = await reviewOf(each.kernel);
    await run.signal("one", 1);
    await made(run, "one");
    await run.signal("two", 2);
    await made(run, "two");
    expect((await run.get()).why).toContain('whether operation "pay" took effect');
    await each.kernel.reviews.resolve(review, { choice: "done", result: "seen", reason: "there" });
    expect(await run.result(timeout)).toEqual([2, 4, "seen"]);
    expect(calls).toEqual(["pay 5"]);
  });

  test("what is decided comes in its turn, also where the function is run again afterwards", async () => {
    const run = await begin(options);
    const review = await reviewOf(each.kernel);
    await run.signal("one", 1);
    await made(run, "one");
    await each.kernel.reviews.resolve(review, { choice: "done", result: "seen", reason: "there" });
    await expect.poll(async () => (await run.get()).why).toContain('for signal "two"');
    await each.restart();
    await each.kernel.worker({ serve: [order] });
    await each.kernel.run("o").signal("two", 2);
    expect(await each.kernel.run("o").result(timeout)).toEqual([2, "seen", 4]);
    expect(calls).toEqual(["pay 5"]);
  });

  test("it is called again when that is decided, and asked about again when nobody knows again", async () => {
    answers = ["unknown", "unknown"];
    const run = await begin(options);
    const first = await reviewOf(each.kernel);
    await run.signal("one", 1);
    await made(run, "one");
    await each.kernel.reviews.resolve(first, { choice: "retry", reason: "not there" });
    await expect.poll(() => calls).toEqual(["pay 5", "pay 5"]);
    const isAnother = async (): Promise<boolean> =>
      (await reviewOf(each.kernel)).reviewId !== first.reviewId;
    await expect.poll(isAnother).toBe(true);
    const second = await reviewOf(each.kernel);
    await each.kernel.reviews.resolve(second, { choice: "abandon", reason: "let it be" });
    await run.signal("two", 2);
    expect(await run.result(timeout)).toEqual([2, "abandoned", 4]);
    expect(calls).toEqual(["pay 5", "pay 5"]);
  });

  test("a person may fail the task as it waits", async () => {
    const run = await begin(options);
    const review = await reviewOf(each.kernel);
    await run.signal("one", 1);
    await made(run, "one");
    await each.kernel.reviews.resolve(review, { choice: "fail", reason: "no use" });
    await expect(run.result(timeout)).rejects.toThrow(RunFailed);
  });

  test("a restart of kernel and worker asks nobody again and forgets nothing", async () => {
    const run = await begin(options);
    const review = await reviewOf(each.kernel);
    await run.signal("one", 1);
    await made(run, "one");
    await each.restart();
    await each.kernel.worker({ serve: [order], ...options });
    const again = await reviewOf(each.kernel);
    expect(again.reviewId).toBe(review.reviewId);
    await each.kernel.run("o").signal("two", 2);
    await made(each.kernel.run("o"), "two");
    await each.kernel.reviews.resolve(again, { choice: "done", result: "seen", reason: "there" });
    expect(await each.kernel.run("o").result(timeout)).toEqual([2, 4, "seen"]);
    expect(calls).toEqual(["pay 5"]);
  });
});

test("a function with nothing else to do waits for the decision without a lease, and ends at once when its run is cancelled", async () => {
  const alone = workflow("alone", { version: 1 }).run(async (ctx) => {
    await ctx.perform(pay, { cents: 7 }, { target: "bank" });
  });
  await each.kernel.worker({ serve: [alone], slots: 1 });
  const run = await each.kernel.start(alone, undefined, { runId: "a" });
  await reviewOf(each.kernel);
  await expect.poll(async () => (await run.get()).why).toContain("waits for a person");
  // Its slot is free.
  const second = await each.kernel.start(alone, undefined, { runId: "b" });
  expect(await second.result(timeout)).toBeUndefined();
  await run.cancel({ reason: "enough" });
  await expect(run.result(timeout)).rejects.toThrow(/cancelled/i);
});
