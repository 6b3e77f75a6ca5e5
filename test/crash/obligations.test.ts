import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, json, task } from "@pawl/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type KernelProcess, type KernelSettings, startKernel } from "./support/crashing-kernel.js";

let dir: string;
let kernels: KernelProcess[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  kernels = [];
});
afterEach(async () => {
  for (const kernel of kernels) kernel.kill();
  await Promise.all(kernels.map((kernel) => kernel.ended));
  await rm(dir, { recursive: true, force: true });
});

async function start(settings: KernelSettings): Promise<{ kernel: KernelProcess; port: number }> {
  const kernel = startKernel(join(dir, "store"), settings);
  kernels.push(kernel);
  return { kernel, port: (await kernel.port) ?? 0 };
}

const kinds = ["a", "b", "c"] as const;

const square = task("square", { input: json<number>(), output: json<number>() }).run(
  (_ctx, n) => n * n,
);

/** Sends a signal of each name, asks a third run to stop, has a child count, and says what became of it all. */
const sender = task("sender").run(async (ctx) => {
  const statuses: string[] = [];
  for (const name of kinds) {
    statuses.push((await ctx.signalRun("receiver", name, { of: name })).status);
  }
  statuses.push((await ctx.cancelRun("victim", "enough")).status);
  statuses.push(`${await ctx.child(square, 7)}`);
  return statuses.join();
});

/** Takes all signals there are, each name as often as one comes, and ends when it is told to. */
const receiver = task("receiver").run(async (ctx) => {
  const got: string[] = [];
  await ctx.waitSignal("end");
  for (const name of kinds) {
    for (let turn = 0; ; turn++) {
      const key = `${turn}`;
      const said = await ctx.waitSignal<{ of: string }>(name, { key, timeout: "0s" });
      if (said.status === "timed-out") break;
      got.push(said.value.of);
    }
  }
  return got.join();
});

const victim = task("victim").run(async (ctx) => {
  await ctx.waitSignal("never");
});

it.each([
  ["segment:before", 2],
  ["segment:after", 3],
  ["segment:before", 4],
  ["checkpoint:before", 1],
  ["checkpoint:after", 1],
])(
  "a kernel that is killed at %s, time %i, while runs tell each other something has told it once",
  async (point, times) => {
    const first = await start({});
    const { port } = first;
    await using client = connect({
      url: `http://127.0.0.1:${port}`,
      onConnection: () => undefined,
    });
    await using worker = await client.worker({
      serve: [sender, receiver, victim, square],
      slots: 4,
    });
    const receiving = await client.start(receiver, undefined, { runId: "receiver" });
    const ending = await client.start(victim, undefined, { runId: "victim" });
    first.kernel.askToEnd();
    await first.kernel.ended;
    const { kernel } = await start({ port, crashAt: `${point}:${times}` });
    const sending = client.start(sender, undefined, { runId: "sender" });
    sending.catch(() => undefined);
    expect((await kernel.ended).how).toBe("SIGKILL");
    await start({ port });
    expect(await (await sending).result()).toBe("delivered,delivered,delivered,delivered,49");
    await receiving.signal("end");
    expect(await receiving.result()).toBe("a,b,c");
    await expect(ending.result()).rejects.toMatchObject({ code: "PAWL_RUN_CANCELLED" });
    await worker.close();
  },
);
