import { Fatal, json, operation, type Schema, task, update, workflow } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();

interface Count {
  n: number;
}

const LATE = { timeout: "1m" } as const;

const echo = task("echo", { input: json<Count>(), output: json<Count>() }).run((_ctx, got) => got);
const child = workflow("child", { version: 1, input: json<Count>(), output: json<Count>() }).run(
  async (_ctx, got) => got,
);

function recorder(name: string, seen: number[]) {
  return operation(name, {
    payload: json<Count>(),
    result: json<Count>(),
    sink: { kind: "idempotent", keyWindow: "1d" },
    call: (op) => {
      seen.push(op.payload.n);
      return op.payload;
    },
  });
}

// What is given to a call is what it was when it was given, whatever the code makes of it afterwards.
test("an operation's payload, and what is proposed, is taken when it is given", async () => {
  const seen: number[] = [];
  const record = recorder("record", seen);
  const counting = workflow("counting", { version: 1 }).run(async (ctx) => {
    const count = { n: 0 };
    const done: Promise<Count>[] = [];
    for (count.n = 1; count.n <= 3; count.n++) {
      done.push(ctx.perform(record, count, { target: "t", key: `${count.n}` }));
    }
    const asking = ctx.approve(record, count, {
      target: "t",
      key: "asked",
      requesterMayDecide: true,
    });
    count.n = 99;
    await ctx.all(done);
    const said = await asking;
    if (said.status === "approved") await said.perform();
  });
  await each.kernel.worker({ serve: [counting] });
  const run = await each.kernel.start(counting, undefined);
  await expect
    .poll(async () => {
      for await (const { proposalId } of each.kernel.approvals.list()) {
        await each.kernel.approvals.approve(await each.kernel.approvals.get(proposalId));
        return true;
      }
      return false;
    })
    .toBe(true);
  await run.result(LATE);
  expect(seen.toSorted()).toEqual([1, 2, 3, 4]);
});

test("how something is undone, is taken when it is given", async () => {
  const undone: number[] = [];
  const undo = recorder("undo", undone);
  const failing = workflow("failing", { version: 1 }).run(async (ctx) => {
    const count = { n: 0 };
    for (count.n = 1; count.n <= 3; count.n++) {
      ctx.onRollback(undo, count, { target: "t", key: `${count.n}` });
    }
    count.n = 99;
    await ctx.step("behind", () => 1);
    throw new Fatal("no more");
  });
  await each.kernel.worker({ serve: [failing] });
  await expect(each.kernel.execute(failing, undefined, LATE)).rejects.toThrow();
  expect(undone).toEqual([3, 2, 1]);
});

test("the input of called tasks and children, is taken when it is given", async () => {
  const calling = workflow("calling", { version: 1, output: json<readonly Count[]>() }).run(
    async (ctx) => {
      const count = { n: 0 };
      const made: Promise<Count>[] = [];
      for (count.n = 1; count.n <= 2; count.n++) {
        made.push(ctx.call(echo, count, { key: `${count.n}` }));
        made.push(ctx.startCall(echo, count, { key: `started-${count.n}` }).result());
        made.push(ctx.child(child, count, { key: `${count.n}` }));
      }
      count.n = 99;
      return await ctx.all(made);
    },
  );
  await each.kernel.worker({ serve: [calling, echo, child] });
  const given = await each.kernel.execute(calling, undefined, LATE);
  expect(given.map(({ n }) => n)).toEqual([1, 1, 1, 2, 2, 2]);
});

test("the answer to an update, and what a client sends, is taken when it is given", async () => {
  const bump = update("bump", { input: json<Count>(), result: json<Count>() });
  const answering = workflow("answering", { version: 1, input: json<Count>() }).run(
    async (ctx, { n }) => {
      const taken = await ctx.waitUpdate(bump);
      const count = { n: n + taken.value.n };
      const accepted = taken.accept(count);
      count.n = 99;
      await accepted;
    },
  );
  await each.kernel.worker({ serve: [answering] });
  const count = { n: 10 };
  const starting = each.kernel.start(answering, count);
  count.n = 1;
  const run = await starting;
  const answered = run.update(bump, count, LATE);
  count.n = 99;
  expect(await answered).toEqual({ n: 11 });
  await run.result(LATE);
});

test("the input of a called task is transformed once, by the worker that serves it", async () => {
  const digits: Schema<string, number> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        typeof value === "string"
          ? { value: Number(value) + 1 }
          : { issues: [{ message: `${String(value)} is no text` }] },
    },
  };
  const plus = task("plus", { input: digits, output: json<number>() }).run((_ctx, n) => n);
  const calling = workflow("calling", { version: 1, output: json<number>() }).run((ctx) =>
    ctx.call(plus, "41"),
  );
  await each.kernel.worker({ serve: [calling, plus] });
  expect(await each.kernel.execute(calling, undefined, LATE)).toBe(42);
});
