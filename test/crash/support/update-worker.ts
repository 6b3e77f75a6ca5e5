/*
 * A worker in a process of its own that serves a function which takes updates, and hangs at the moment that it is told: node update-worker.ts PORT MOMENT. It says what happens on
 * stdout, a line each.
 */
import { connect, json, update, workflow } from "@pawl/sdk";

const [, , port = "0", moment = ""] = process.argv;

/** Says it, and hangs there when it is the chosen moment. */
async function passes(name: string): Promise<string> {
  process.stdout.write(`${name}\n`);
  if (name === moment) await new Promise(() => undefined);
  return name;
}

const move = update("move", { input: json<number>(), result: json<{ readonly left: number }>() });
const stop = update("stop");

const account = workflow("account", {
  version: 1,
  output: json<readonly number[]>(),
  timeouts: { lease: "1s" },
}).run(async (ctx) => {
  const taken: number[] = [];
  const first = await ctx.waitUpdate(move, { key: "1" });
  taken.push(first.value);
  await ctx.step("taken", () => passes("taken"));
  await first.accept({ left: 10 + first.value });
  await ctx.step("answered", { durable: true }, () => passes("answered"));
  // Were the first one seen again, it would be taken here.
  const next = await ctx.waitUpdate(move, { key: "2", timeout: "1s" });
  if (next.status === "received") {
    taken.push(next.value);
    await next.accept({ left: -1 });
  }
  const ended = await ctx.waitUpdate(stop);
  await ended.accept();
  return taken;
});

const client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
await client.worker({ serve: [account] });
process.stdout.write("serves\n");
process.stdin.on("end", () => process.exit(0)).resume();
