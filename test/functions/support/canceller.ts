/*
 * A worker in a process of its own: node canceller.ts URL HANG. It serves a function that cancels its calls, each in another way, after the signal `cancel`, and then waits
 * for the signal `end`; with HANG = "cancelled" it hangs when it has cancelled them. It says what happens on stdout, a line each.
 */
import { CallCancelled, CallFailed, task, worker, workflow } from "@pawl/sdk";

const [, , url = "", hang = ""] = process.argv;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function wordFor(result: Promise<unknown>): Promise<string> {
  try {
    return `gave ${String(await result)}`;
  } catch (error) {
    if (error instanceof CallCancelled) return `cancelled by ${error.mode}`;
    if (error instanceof CallFailed) return `failed with ${error.failure.code}`;
    throw error;
  }
}

const canceller = workflow("canceller", { version: 1, timeouts: { lease: "1s" } }).run(
  async (ctx) => {
    const schedule = { cancelGrace: "5m", timeouts: { lease: "1m" } } as const;
    const names = ["held", "unheld", "request", "abandon"];
    const calls = names.map((name) => ctx.startCall(task(name, schedule)));
    await ctx.waitSignal("cancel");
    for (const call of calls) {
      const { task: name } = call;
      call.cancel({ mode: name === "request" || name === "abandon" ? name : "wait" });
    }
    await ctx.step("cancelled", { durable: true }, () => true);
    if (hang === "cancelled") {
      say("cancelled");
      await new Promise(() => undefined);
    }
    const first = await wordFor(calls[1]?.result() ?? Promise.resolve());
    await ctx.waitSignal("end");
    const said: string[] = [first];
    for (const call of calls) said.push(await wordFor(call.result()));
    return said;
  },
);

await worker({ url, serve: [canceller] });
say("ready");
