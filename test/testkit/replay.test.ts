import { json, operation, type ServedTask, task, type WorkflowContext, workflow } from "@pawl/sdk";
import {
  assertReplays,
  type History,
  openTestEnvironment,
  replay,
  testSink,
} from "@pawl/sdk/testing";
import { beforeAll, describe, expect, test } from "vitest";
import "@pawl/sdk/testing/vitest";

const bank = testSink({ name: "bank", honoursKeys: true });

interface Order {
  readonly cents: number;
}
function payment(name: string) {
  return operation(name, {
    payload: json<Order>(),
    result: json<string>(),
    sink: { kind: "idempotent", keyWindow: "24h" },
    call: (op) => bank.call(op, () => `${name} ${op.payload.cents}`),
  });
}
const refund = payment("payments.refund");
const charge = payment("payments.charge");
const weigh = task("weigh", { input: json<string>() }).run((_ctx, item) => item.length);
const kid = workflow("kid", { version: 1 }).run(async () => "grown");

let drawn = 0;

type Code = (ctx: WorkflowContext, order: Order) => Promise<string>;
const served = (code: Code, unvisited: "review" | "allow" = "review"): ServedTask<Order, string> =>
  workflow("shop", { version: 1, input: json<Order>(), unvisited }).run(code);

const shop: Code = async (ctx, { cents }) => {
  const price = await ctx.step("price", () => {
    drawn++;
    return cents;
  });
  const [weight] = await ctx.map("weigh", ["tea"], { key: (item) => item }, (item) =>
    ctx.call(weigh, item),
  );
  const said = await ctx.approve(
    refund,
    { cents: price },
    { target: "bank", key: "pay", from: ["role:x"], requesterMayDecide: true },
  );
  const paid = said.status === "approved" ? await said.perform() : said.status;
  const grown = await ctx.child(kid, undefined, { name: "kid" });
  const go = await ctx.waitSignal<string>("ship");
  return `${paid} ${weight?.status} ${grown} ${go.status}`;
};

/** A history of `shop`, up to where it waits for its signal, and to its end. */
let waiting: History;
let ended: History;

beforeAll(async () => {
  await using env = await openTestEnvironment();
  await env.worker({ serve: [served(shop), weigh, kid] });
  const run = await env.kernel.start(served(shop), { cents: 3 }, { runId: "s" });
  await env.settle();
  for await (const proposal of env.kernel.approvals.list()) {
    await env.kernel.approvals.approve(proposal);
  }
  await env.settle();
  waiting = await env.history("s");
  await run.signal("ship", "van");
  await run.result();
  ended = await env.history("s");
  drawn = 0;
});

describe("a history is replayed", () => {
  test("over the code that made it, to the same end, and nothing is done", async () => {
    const { fits, end, next, unvisited } = await replay(ended, served(shop));
    expect({ fits, next, unvisited }).toEqual({ fits: true, next: [], unvisited: [] });
    expect(end).toEqual({ status: "returned", output: "payments.refund 3 ok grown received" });
    expect(drawn).toBe(0);
  });

  test("of a run that goes on, up to where it stands", async () => {
    const { fits, end, next } = await replay(waiting, served(shop));
    expect({ fits, end, next }).toEqual({ fits: true, end: { status: "goes on" }, next: [] });
  });

  test("over code that goes on otherwise beyond the records, and says what comes next", async () => {
    const replayed = await replay(
      ended,
      served(async (ctx, order) => {
        const before = await shop(ctx, order);
        await ctx.perform(charge, { cents: 9 }, { target: "bank" });
        return before;
      }),
    );
    expect(replayed).toMatchObject({ fits: true, end: { status: "goes on" } });
    expect(replayed.next).toEqual(['operation "payments.charge"']);
  });

  test.each<readonly [string, Code, string]>([
    [
      "another effect under its key",
      async (ctx, order) => {
        await ctx.perform(charge, order, { target: "bank", key: "pay" });
        return shop(ctx, order);
      },
      'operation "payments.refund" under "pay", which is recorded',
    ],
    [
      "another input of a call",
      async (ctx) => {
        await ctx.map("weigh", ["tea"], { key: (item) => item }, (item) =>
          ctx.call(weigh, `${item}!`),
        );
        return "";
      },
      "recorded input",
    ],
    [
      "another workflow for a child",
      async (ctx) => {
        await ctx.child(weigh, "tea", { name: "kid" });
        return "";
      },
      "kid",
    ],
  ])("over code with %s, and the difference is told", async (_what, code, difference) => {
    const replayed = await replay(ended, served(code));
    expect(replayed.fits).toBe(false);
    expect(replayed.difference).toContain(difference);
    await expect(assertReplays(ended, served(code))).rejects.toMatchObject({
      code: "PAWL_REPLAY_DIFFERS",
    });
  });
});

describe("a replay", () => {
  test("over code that leaves something behind, and it is named", async () => {
    const code: Code = async (ctx) => {
      await ctx.step("price", () => 1);
      return "early";
    };
    const replayed = await replay(ended, served(code));
    expect(replayed.unvisited).toEqual([
      'operation "payments.refund" under "pay"',
      'approval "payments.refund" under "pay"',
      'child "kid"',
      'called task "weigh/tea/weigh"',
    ]);
    expect(replayed.fits).toBe(false);
    expect((await replay(ended, served(code, "allow"))).fits).toBe(true);
  });

  test("over a patch, which keeps its old lines", async () => {
    const asked: boolean[] = [];
    const code: Code = async (ctx, order) => {
      asked.push(await ctx.version("first"));
      return shop(ctx, order);
    };
    expect((await replay(ended, served(code))).fits).toBe(true);
    expect(asked).toEqual([false]);
  });

  test("from the lines that the command prints", async () => {
    if (typeof ended === "string") throw new Error("expected events");
    const lines = ended.map((event) => JSON.stringify(event)).join("\n");
    expect((await replay(lines, served(shop))).fits).toBe(true);
  });

  test("and a matcher says so", async () => {
    await expect(served(shop)).toFitHistory(ended);
    await expect(served(async () => "early")).not.toFitHistory(ended);
  });
});

test("a replay over code that goes on with a new version beyond how to undo something takes its new lines", async () => {
  const asked: boolean[] = [];
  const charging =
    (isPatched: boolean): Code =>
    async (ctx, order) => {
      await ctx.perform(charge, order, { target: "bank" });
      ctx.onRollback(refund, order, { target: "bank", key: "back" });
      await ctx.waitSignal("ship");
      if (isPatched) asked.push(await ctx.version("patched"));
      return "done";
    };
  await using env = await openTestEnvironment();
  await env.worker({ serve: [served(charging(false))] });
  const run = await env.kernel.start(served(charging(false)), { cents: 3 }, { runId: "v" });
  await run.signal("ship");
  await run.result();
  const history = await env.history("v");
  const { fits, end } = await replay(history, served(charging(true)));
  expect({ fits, status: end.status, asked }).toEqual({
    fits: true,
    status: "returned",
    asked: [true],
  });
});

describe("what is no history of the workflow is refused", () => {
  test("text that is none", async () => {
    await expect(replay("nothing", served(shop))).rejects.toThrow("--stored");
  });

  test("a history that is not whole, or that this version cannot read", async () => {
    if (typeof ended === "string") throw new Error("expected events");
    const first = ended[0] as object;
    await expect(replay(ended.slice(1), served(shop))).rejects.toMatchObject({
      code: "PAWL_TEST_MISUSED",
      message: expect.stringContaining("Expected event 1 first, but it is event 2"),
    });
    await expect(replay(ended.toSpliced(3, 1), served(shop))).rejects.toMatchObject({
      code: "PAWL_TEST_MISUSED",
      message: expect.stringContaining("but it is event 5"),
    });
    await expect(replay([], served(shop))).rejects.toMatchObject({ code: "PAWL_TEST_MISUSED" });
    // A field that no version has, and half a field.
    for (const [stored, why] of [
      ["+j8A", "of a type that this version knows"],
      ["Cg==", "event 1 as it is stored, but it cannot be read"],
    ] as const) {
      const unread = replay([{ ...first, stored }], served(shop));
      await expect(unread).rejects.toMatchObject({
        code: "PAWL_TEST_MISUSED",
        message: expect.stringContaining(why),
      });
    }
  });

  test("a history without stored events", async () => {
    if (typeof ended === "string") throw new Error("expected events");
    const bare = ended.map((event) => ({ ...(event as object), stored: "" }));
    await expect(replay(bare, served(shop))).rejects.toThrow("--json --stored");
  });

  test("that of another workflow, and code that is a task", async () => {
    await expect(replay(ended, kid)).rejects.toThrow('is of "shop"');
    await expect(replay(ended, weigh)).rejects.toThrow("is a task");
  });
});
