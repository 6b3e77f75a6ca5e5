/*
 * A worker in a process of its own: node gatherer.ts URL SINK_FILE HANG. It gathers with a map of which some suffice, and merges; with HANG = "merge" it
 * hangs in the merge. It says what happens on stdout, a line each.
 */
import { appendFileSync } from "node:fs";
import { isOk, json, operation, task, worker, workflow } from "@pawl/sdk";

const [, , url = "", sinkFile = "", hang = ""] = process.argv;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const timeouts = { lease: "1s" } as const;

/** The sink: one line for each call. */
const note = operation("note", {
  payload: json<number>(),
  result: json<number>(),
  sink: { kind: "idempotent", keyWindow: "1d" },
  callTimeout: "1s",
  call: (op) => {
    appendFileSync(sinkFile, `${op.key}\n`);
    return op.payload;
  },
});

const look = task("look", { input: json<number>(), timeouts }).run(async (ctx, n) => {
  await ctx.waitSignal(`look-${n}`);
  return ctx.perform(note, n, { target: "sink" });
});

const gather = workflow("gather", { version: 1, input: json<readonly number[]>(), timeouts }).run(
  async (ctx, items) => {
    const order: number[] = [];
    const options = { key: String, join: { atLeast: 3 } };
    const found = await ctx.map("found", items, options, async (n) => {
      const value = await ctx.call(look, n);
      order.push(value);
      say(`ended ${order.join()}`);
      return value;
    });
    const merged = await ctx.step("merge", async () => {
      say("merging");
      if (hang === "merge") await new Promise(() => undefined);
      return { order: [...order], drawn: Math.random() };
    });
    await ctx.waitSignal("end");
    const statuses = found.map(({ status }) => status);
    return { merged, again: order, statuses, sum: found.filter(isOk).length };
  },
);

await worker({ url, serve: [gather, look] });
say("ready");
