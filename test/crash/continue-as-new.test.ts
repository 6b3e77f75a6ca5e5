import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, json, RunFailed, task, workflow } from "@pawl/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type KernelProcess, type KernelSettings, startKernel } from "./support/crashing-kernel.js";
import { dieAt } from "./support/death.js";

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
  const port = (await kernel.port) ?? 0;
  return { kernel, port };
}

/** Adds up what signals bring, one for each incarnation. */
const adding = workflow("adding", { version: 1, input: json<{ sum: number; left: number }>() }).run(
  async (ctx, { sum, left }) => {
    if (left === 0) return { sum, incarnation: ctx.incarnation };
    const came = await ctx.waitSignal<number>("add");
    const more = await ctx.step("more", () => (came.status === "received" ? came.value : 0));
    return ctx.continueAsNew({ sum: sum + more, left: left - 1 });
  },
);

const unserved = task("unserved", { input: json<null>() });

it.each([
  ["segment:before", 2],
  ["segment:after", 2],
  ["segment:before", 5],
  ["segment:after", 5],
  ["checkpoint:before", 1],
  ["checkpoint:after", 1],
  ["checkpoint:before", 2],
  ["checkpoint:after", 2],
])(
  "a kernel that is killed at %s, time %i, while a run continues as new loses no signal of it and begins no incarnation twice",
  async (point, times) => {
    const first = await start({});
    const { port } = first;
    await using client = connect({
      url: `http://127.0.0.1:${port}`,
      onConnection: () => undefined,
    });
    await using worker = await client.worker({ serve: [adding], slots: 1 });
    const run = await client.start(adding, { sum: 0, left: 3 }, { runId: "r" });
    first.kernel.askToEnd();
    await first.kernel.ended;
    const { kernel } = await start({ port, crashAt: `${point}:${times}` });
    const sent = [1, 10, 100].map((n) => run.signal("add", n, { requestId: `${n}` }));
    const ended = Promise.all(sent).then(() => run.result());
    await dieAt(kernel, point, ended, (turn) =>
      client.start(unserved, null, { runId: `more-${turn}` }),
    );
    await start({ port });
    expect(await ended).toEqual({ sum: 111, incarnation: 4 });
    await worker.close();
  },
);

it("a run whose timeout is over while the kernel is dead is stopped at once by the next one", async () => {
  const first = await start({});
  const { port } = first;
  await using client = connect({ url: `http://127.0.0.1:${port}`, onConnection: () => undefined });
  const run = await client.start(unserved, null, { runId: "r", runTimeout: "1h" });
  first.kernel.kill();
  await first.kernel.ended;
  await start({ port, aheadMs: 3_600_000 });
  await expect(run.result()).rejects.toThrow(RunFailed);
  await expect(run.result()).rejects.toMatchObject({ failure: { code: "PAWL_RUN_TIMED_OUT" } });
});
