// Goal: runs that an earlier commit began go on with the code of today, or are told why they do not.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { json, operation, task, type WorkflowContext, workflow } from "@pawl/sdk";
import { assertReplays, type Replay, replay } from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";
import { golden as order, refund, weigh } from "./histories/order-1/code.js";
import type { Golden } from "./support/golden.js";
import { type Change, orderWith } from "./support/order-today.js";

const folder = fileURLToPath(new URL("histories/", import.meta.url));

const read = (name: string, moment: string): string =>
  readFileSync(join(folder, name, `${moment}.jsonl`), "utf8");

const histories = readdirSync(folder).flatMap((name) =>
  readdirSync(join(folder, name))
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => [name, file.replace(".jsonl", "")] as const),
);

async function goldenOf(name: string): Promise<Golden<unknown, unknown>> {
  const { golden } = await import(`./histories/${name}/code.ts`);
  return golden;
}

function inWords(end: Replay["end"]): string {
  if (end.status === "returned") return `returned ${end.output}`;
  if (end.status === "threw") return `threw ${end.error}`;
  return end.status;
}

describe("a history that an earlier commit wrote", () => {
  test("is there for each moment that its code names", async () => {
    const named: (readonly [string, string])[] = [];
    for (const name of readdirSync(folder)) {
      const { ends } = await goldenOf(name);
      named.push(...Object.keys(ends).map((moment) => [name, moment] as const));
    }
    expect(named.length).toBeGreaterThanOrEqual(8);
    expect(histories.map(String).sort()).toEqual(named.map(String).sort());
  });

  test.each(histories)("fits the code that made it: %s, %s", async (name, moment) => {
    const golden = await goldenOf(name);
    const over = await replay(read(name, moment), golden.serve(golden.code));
    const { fits, difference, unvisited, next } = over;
    expect({ fits, difference, unvisited, next }).toEqual({
      ...{ fits: true, difference: undefined, unvisited: [], next: [] },
    });
    expect(inWords(over.end)).toBe(golden.ends[moment]);
  });
});

const moments = ["asks", "proposes", "waits", "ended"] as const;

function replayed(
  moment: (typeof moments)[number],
  change: Change,
  unvisited: "review" | "allow" = "review",
): Promise<Replay> {
  return replay(read("order-1", moment), order.serve(orderWith(change), unvisited));
}

const wrap = task("wrap").run(() => "wrapped");
const charge = operation("payments.charge", {
  payload: json<{ readonly cents: number }>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "24h" },
  call: () => "charged",
});

describe("a change that fits", () => {
  test("stands under ctx.version: who has passed the place takes the old lines, who has not the new ones", async () => {
    const asked = async (moment: (typeof moments)[number]): Promise<boolean[]> => {
      const answers: boolean[] = [];
      const newLine = (id: string) => async (ctx: WorkflowContext) => {
        const isNew = await ctx.version(id);
        answers.push(isNew);
        if (isNew) await ctx.call(wrap, undefined, { key: id });
      };
      const change = { afterAnswer: newLine("wrap"), afterApproval: newLine("tie") };
      const { fits, next } = await replayed(moment, change);
      expect({ fits, next }).toEqual({ fits: true, next: [] });
      return answers;
    };
    expect(await asked("asks")).toEqual([]);
    expect(await asked("proposes")).toEqual([false]);
    expect(await asked("waits")).toEqual([false, false]);
    expect(await asked("ended")).toEqual([false, false]);
  });

  test("is asked for next where the records end", async () => {
    const { fits, next, end } = await replayed("ended", {
      last: (ctx) => ctx.call(wrap),
    });
    expect({ fits, next, end }).toEqual({
      ...{ fits: true, next: ['called task "wrap"'], end: { status: "goes on" } },
    });
  });

  test.each<readonly [string, Change]>([
    ["a version that every run of it has taken is removed", { without: ["version"] }],
    ["a step is removed", { without: ["price"] }],
    [
      "a line is asked for earlier than it was",
      { first: (ctx) => ctx.perform(refund, { cents: 6 }, { target: "bank", key: "none" }) },
    ],
  ])("is one in which %s", async (_what, change) => {
    for (const moment of moments) expect((await replayed(moment, change)).fits).toBe(true);
  });
});

describe("a change that does not fit", () => {
  const elsewhere = workflow("elsewhere", { version: 1 }).run(async () => "elsewhere");
  const price = task("price").run(() => 6);
  const measure = task("weigh", { input: json<string>(), queue: "scales" }).run(() => 1);

  test.each<readonly [string, (typeof moments)[number], Change, readonly string[]]>([
    [
      "another effect under a key",
      "waits",
      { payment: charge },
      ['"payments.refund" under "pay"', '"payments.charge" under "pay"'],
    ],
    ["another payload", "asks", { reserved: 7 }, ["stock.reserve", "payload"]],
    ["another input of a called task", "asks", { suffix: "?" }, ["weigh/tea", "recorded input"]],
    ["another queue of a called task", "asks", { weighed: measure }, ["weigh/tea", "scales"]],
    ["another workflow for a child", "ended", { van: elsewhere }, ["van"]],
    [
      "another kind of wait, where the first has ended",
      "ended",
      { ship: (ctx) => ctx.sleep("ship", "1h") },
      ['wait "ship"', "timer"],
    ],
    [
      "another kind of wait, where the first is open",
      "waits",
      { ship: (ctx) => ctx.sleep("ship", "1h") },
      ['wait "ship"', "timer"],
    ],
    [
      "a call where a step was",
      "asks",
      { without: ["price"], first: (ctx) => ctx.call(price) },
      ['step "price"', 'called task "price"'],
    ],
  ])("is told: %s", async (_what, moment, change, difference) => {
    const { fits, difference: told = "" } = await replayed(moment, change);
    expect(fits).toBe(false);
    for (const part of difference) expect(told).toContain(part);
    const served = order.serve(orderWith(change));
    await expect(assertReplays(read("order-1", moment), served)).rejects.toMatchObject({
      code: "PAWL_REPLAY_DIFFERS",
    });
  });
});

describe("a change that leaves a record behind", () => {
  test.each<readonly [NonNullable<Change["without"]>[number], readonly string[]]>([
    ["reserve", ['operation "stock.reserve"']],
    ["weigh", ['called task "weigh/tea!/weigh"', 'called task "weigh/tea/weigh"']],
    [
      "approve",
      ['approval "payments.refund" under "pay"', 'operation "payments.refund" under "pay"'],
    ],
    ["van", ['child "van"']],
  ])("is told by its name: %s", async (line, names) => {
    const { fits, end, unvisited } = await replayed("ended", { without: [line] });
    expect(fits).toBe(false);
    expect(end.status).toBe("returned");
    expect(unvisited.toSorted()).toEqual(names);
    expect((await replayed("ended", { without: [line] }, "allow")).fits).toBe(true);
  });

  test("is not told before the code has returned", async () => {
    const { fits, end } = await replayed("waits", { without: ["reserve"] });
    expect({ fits, end }).toEqual({ fits: true, end: { status: "goes on" } });
  });
});

test("the code that is changed here is that which made the histories, but for its result", async () => {
  expect((await replayed("ended", {})).end).toEqual({ status: "returned", output: "nap 7" });
  expect(weigh.name).toBe("weigh");
});
