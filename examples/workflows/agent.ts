/* An agent as an ordinary function: it plans, uses tools, asks, and acts when it may. Kill it at any moment and run it again. */
import { mkdir, writeFile } from "node:fs/promises";
import { isOk, json, openKernel, operation, task, workflow } from "@pawl/sdk";
import { answerAtTerminal } from "./at-the-terminal.js";

interface Booking {
  readonly to: string;
  readonly days: number;
}

// Stands in for a model. A real one would plan otherwise each time it is asked; here it says when it is asked.
function planWithModel(to: string): { readonly tool: string; readonly about: string }[] {
  process.stderr.write("the model plans\n");
  return ["weather", "trains", "hotels"].map((tool) => ({ tool, about: to }));
}

const useTool = task("tool", {
  input: json<{ readonly tool: string; readonly about: string }>(),
}).run((_ctx, { tool, about }) => `${tool} of ${about}: good`);

// The effect. The same key writes the same file again, so this sink is idempotent.
const book = operation("trip.book", {
  payload: json<Booking>(),
  result: json<{ readonly file: string }>(),
  sink: { kind: "idempotent", keyWindow: "365d" },
  call: async (op) => {
    await mkdir(".pawl-bookings", { recursive: true });
    const file = `.pawl-bookings/${op.uuid}.json`;
    await writeFile(file, JSON.stringify(op.payload));
    return { file };
  },
});

const agent = workflow("trip.agent", {
  version: 1,
  input: json<{ readonly to: string }>(),
  timeouts: { lease: "2s" }, // A worker that dies is noticed when its lease ends.
}).run(async (ctx, { to }) => {
  const plan = await ctx.step("plan", () => planWithModel(to)); // Recorded, never planned again.
  const found = await ctx.map("tools", plan, { key: ({ tool }) => tool }, (use) =>
    ctx.call(useTool, use),
  );
  const days = await ctx.ask("days", { question: `How many days in ${to}?`, as: json<number>() });
  if (days.status !== "answered") return { booked: false, why: days.status };
  const allowed = { from: ["role:traveller"], requesterMayDecide: true };
  const trip = { to, days: days.value };
  const said = await ctx.approve(book, trip, { target: "travel agency", ...allowed });
  if (said.status !== "approved") return { booked: false, why: said.reason };
  const { file } = await said.perform(); // Exactly what was approved, once.
  return { booked: true, why: found.filter(isOk).map(({ value }) => value), file };
});

await using kernel = await openKernel({ dir: ".pawl-agent" });
await kernel.worker({ serve: [agent, useTool] });
const run = await kernel.start(agent, { to: "Lisbon" }, { runId: "trip-1" });
await answerAtTerminal(kernel, run);
process.stdout.write(`${JSON.stringify(await run.result())}\n`);
