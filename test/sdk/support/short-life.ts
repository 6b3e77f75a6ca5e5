/*
 * A program that opens a kernel, works, performs an effect, closes everything, and then has nothing more to do: if it
 * does not end by itself, something was left behind.
 */
import { json, openKernel, operation, task } from "@pawl/sdk";

const [, , dir = ""] = process.argv;
const kernel = await openKernel({ dir });
const charge = operation("charge", {
  payload: json<number>(),
  result: json<number>(),
  call: (op) => op.payload * 2,
});
const double = task("double", { input: json<number>() }).run((ctx, n) =>
  ctx.perform(charge, n, { target: "t" }),
);
await kernel.worker({ serve: [double] });
const done = await kernel.execute(double, 21, { timeout: "20s" });
const found = await kernel.perform(charge, 4, { scope: "namespace", key: "k" });
await kernel.close();
process.stdout.write(`${done} ${found}\n`);
