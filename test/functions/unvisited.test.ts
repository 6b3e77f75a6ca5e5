import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { json, operation, task, type WorkflowContext } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { type Code, reviewOf, startOld } from "./support/change-code.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

const book = operation("book", {
  payload: json<number>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  call: (op) => `booked ${op.payload}`,
});
const weigh = task("weigh", { input: json<number>() }).run((_ctx, n) => n);
const fetch = task("fetch").run(() => "fetched");

const booking = (ctx: WorkflowContext): Promise<string> =>
  ctx.perform(book, 7, { target: "hotel", key: "room" });

const before: Code = async (ctx) => {
  const booked = await booking(ctx);
  await ctx.waitSignal("go");
  return booked;
};

const after: Code = async (ctx) => {
  await ctx.waitSignal("go");
  return "nothing booked";
};

describe("a return that did not reach a recorded effect", () => {
  test("waits for a person, who is told what was not reached", async () => {
    const { run, deploy } = await startOld(each.kernel, before);
    await deploy(after);
    await run.signal("go");
    const review = await reviewOf(each.kernel);
    expect(review.known).toContain('operation "book" under "room"');
    expect(review.choices).toEqual(["accept", "retry", "done", "skip", "fail"]);
    expect(review.failures.at(-1)?.message).toContain("did not reach");
    expect((await run.get()).status).toBe(RunStatus.RUNNING);
    expect((await run.get()).why).toContain("did not reach all that is recorded");
  });

  test("stands when the person accepts it", async () => {
    const { run, deploy } = await startOld(each.kernel, before);
    await deploy(after);
    await run.signal("go");
    const review = await reviewOf(each.kernel);
    const accept = { choice: "accept", reason: "the room is kept" } as const;
    expect((await each.kernel.reviews.resolve(review, accept)).existing).toBe(false);
    expect(await run.result(timeout)).toBe("nothing booked");
    expect((await each.kernel.reviews.resolve(review, accept)).existing).toBe(true);
  });

  test("does not stand when the person brings back the code that reaches it", async () => {
    const { run, deploy } = await startOld(each.kernel, before);
    await deploy(after);
    await run.signal("go");
    const review = await reviewOf(each.kernel);
    await deploy(before);
    await each.kernel.reviews.resolve(review, { choice: "retry", reason: "wrong deploy" });
    expect(await run.result(timeout)).toBe("booked 7");
  });

  test("outlives the kernel, with what was returned", async () => {
    const { run, deploy } = await startOld(each.kernel, before);
    await deploy(after);
    await run.signal("go");
    const { reviewId } = await reviewOf(each.kernel);
    await each.restart();
    const review = await each.kernel.reviews.get(reviewId);
    await each.kernel.reviews.resolve(review, { choice: "accept", reason: "fine" });
    expect(await each.kernel.run("c").result(timeout)).toBe("nothing booked");
  });

  test("stands at once when the workflow allows it", async () => {
    const { run, deploy } = await startOld(each.kernel, before, [], "allow");
    await deploy(after);
    await run.signal("go");
    expect(await run.result(timeout)).toBe("nothing booked");
  });

  test("asks nobody when the run was asked to stop", async () => {
    const { run, deploy } = await startOld(each.kernel, before);
    await deploy(async (ctx) => {
      await ctx.waitSignal("go").catch(() => undefined);
      return "stopped";
    });
    await run.cancel({ reason: "enough" });
    await expect(run.result(timeout)).rejects.toMatchObject({ name: "RunCancelled" });
  });
});

test.each<readonly [string, Code, string]>([
  [
    "an approval",
    async (ctx) => {
      const said = await ctx.approve(book, 7, {
        target: "hotel",
        from: ["role:x"],
        expiresIn: "1s",
      });
      await ctx.waitSignal("go");
      return said.status;
    },
    'approval "book"',
  ],
  [
    "a called task",
    async (ctx) => {
      const said = await ctx.call(fetch);
      await ctx.waitSignal("go");
      return said;
    },
    'called task "fetch"',
  ],
  [
    "a child",
    async (ctx) => {
      const { runId } = await ctx.startChild(fetch, undefined, { name: "kid" });
      await ctx.waitSignal("go");
      return runId;
    },
    'child "kid"',
  ],
])("%s that was not reached is told, too", async (_what, code, known) => {
  const { run, deploy } = await startOld(each.kernel, code, [fetch]);
  await deploy(after);
  await run.signal("go");
  expect((await reviewOf(each.kernel)).known).toContain(known);
});

test("a step, a wait or a sleep may be left out", async () => {
  const { run, deploy } = await startOld(each.kernel, async (ctx) => {
    const drawn = await ctx.step("draw", () => "a card");
    await ctx.sleep("nap", "10ms");
    await ctx.waitSignal("go");
    return drawn;
  });
  await deploy(after);
  await run.signal("go");
  expect(await run.result(timeout)).toBe("nothing booked");
});

describe("continuing as new without having reached a recorded effect", () => {
  const continuing: Code = async (ctx) => {
    if (ctx.incarnation > 1) return "continued";
    await ctx.waitSignal("go");
    return ctx.continueAsNew();
  };

  test("waits for a person, who is told what was not reached", async () => {
    const { run, deploy } = await startOld(each.kernel, before);
    await deploy(continuing);
    await run.signal("go");
    const review = await reviewOf(each.kernel);
    expect(review.failures.at(-1)?.message).toContain(
      'did not reach operation "book" under "room"',
    );
    expect((await run.get()).status).toBe(RunStatus.RUNNING);
  });

  test("is let through where the workflow allows it", async () => {
    const { run, deploy } = await startOld(each.kernel, before, [], "allow");
    await deploy(continuing);
    await run.signal("go");
    expect(await run.result(timeout)).toBe("continued");
  });

  test("is found out of a call that it made and did not wait for, too", async () => {
    const calling =
      (input: number): Code =>
      async (ctx) => {
        if (ctx.incarnation > 1) return "continued";
        if (input === 1) void ctx.call(weigh, input);
        await ctx.waitSignal("go");
        if (input !== 1) void ctx.call(weigh, input);
        return ctx.continueAsNew();
      };
    const { run, deploy } = await startOld(each.kernel, calling(1), [weigh]);
    await deploy(calling(2));
    await run.signal("go");
    const review = await reviewOf(each.kernel);
    expect(review.failures.at(-1)?.message).toContain("recorded input");
  });

  test("that asks no more for a version of which it has the old lines waits for a person, too", async () => {
    const { run, deploy } = await startOld(each.kernel, async (ctx) => {
      await ctx.step("draw", () => 1);
      await ctx.waitSignal("go");
      return "old";
    });
    await deploy(async (ctx) => {
      await ctx.version("checked");
      await ctx.step("draw", () => 1);
      await ctx.waitSignal("go");
      await ctx.waitSignal("then");
      return "old";
    });
    await run.signal("go");
    await expect.poll(async () => (await run.get()).why, { timeout: 60_000 }).toContain('"then"');
    await deploy(async (ctx) => {
      await ctx.step("draw", () => 1);
      await ctx.waitSignal("go");
      await ctx.waitSignal("then");
      return ctx.continueAsNew();
    });
    await run.signal("then");
    const review = await reviewOf(each.kernel);
    expect(review.failures.at(-1)?.message).toContain('ctx.version for "checked"');
  });
});
