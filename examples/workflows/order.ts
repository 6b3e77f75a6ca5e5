/* An order saga: stock is reserved, the card charged, a courier booked. When one says no, what was done is undone, the latest first. Kill it at any moment and run it again. */
import { appendFile, readFile } from "node:fs/promises";
import { json, openKernel, operation, Refused, RunFailed, workflow } from "@pawl/sdk";

interface Order {
  readonly item: string;
  readonly cents: number;
  readonly to: string;
}

// What reached the systems around: a line for each effect. They cannot tell a repeat, so they are asked before a call is made again.
const books = ".pawl-order-books.txt";
const read = () => readFile(books, "utf8").catch(() => "");

const effect = (name: string) =>
  operation(name, {
    payload: json<Order>(),
    result: json<string>(),
    callTimeout: "2s",
    sink: { kind: "reconcilable", settle: "500ms" },
    call: async ({ key, payload: { to } }) => {
      if (name === "courier.book" && to === "the moon") throw new Refused("Nobody drives there.");
      await appendFile(books, `${key} ${name} for ${to}\n`);
      return key;
    },
    lookup: async ({ key }) => ((await read()).includes(`${key} `) ? { found: key } : "absent"),
  });

const reserve = effect("stock.reserve");
const putBack = effect("stock.put-back");
const charge = effect("card.charge");
const refund = effect("card.refund");
const book = effect("courier.book");

const ship = workflow("order.ship", {
  version: 1,
  input: json<Order>(),
  timeouts: { lease: "2s" }, // A worker that dies is noticed when its lease ends.
}).run(async (ctx, wanted) => {
  await ctx.perform(reserve, wanted, { target: "warehouse" });
  ctx.onRollback(putBack, wanted, { target: "warehouse" }); // Data, recorded at once.
  await ctx.perform(charge, wanted, { target: "bank" });
  ctx.onRollback(refund, wanted, { target: "bank" });
  await ctx.perform(book, wanted, { target: "courier" }); // Refused: everything above is undone.
  return `${wanted.item} is on its way to ${wanted.to}`;
});

await using kernel = await openKernel({ dir: ".pawl-order" });
await kernel.worker({ serve: [ship] });
const order: Order = { item: "telescope", cents: 19_900, to: process.argv[2] ?? "the moon" };
const run = await kernel.start(ship, order, { runId: `order-to-${order.to}` });
const said = await run.result().catch((error: unknown) => {
  if (error instanceof RunFailed) return error.message;
  throw error;
});
const lines = (await read()).split("\n").filter((line) => line.endsWith(` for ${order.to}`));
const happened = lines.map((line) => line.split(" ")[1]);
process.stdout.write(`${JSON.stringify({ said, happened })}\n`);
