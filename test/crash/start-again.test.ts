import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, json, task } from "@pawl/sdk";
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

/** What the work of each incarnation did, in order. */
const done: number[] = [];
const count = task("count", { input: json<null>(), output: json<number>() }).run((ctx) => {
  done.push(ctx.incarnation);
  return ctx.incarnation;
});

const unserved = task("unserved", { input: json<null>() });

it.each([
  ["segment:before", 1],
  ["segment:after", 1],
  ["segment:before", 2],
  ["segment:after", 2],
  ["checkpoint:before", 1],
  ["checkpoint:after", 1],
  ["checkpoint:before", 2],
  ["checkpoint:after", 2],
])(
  "a kernel that is killed at %s, time %i, around a restart has begun the run exactly once more",
  async (point, times) => {
    done.length = 0;
    const first = await start({});
    const { port } = first;
    await using client = connect({
      url: `http://127.0.0.1:${port}`,
      onConnection: () => undefined,
    });
    await using worker = await client.worker({ serve: [count], slots: 1 });
    expect(await client.execute(count, null, { runId: "r" })).toBe(1);
    first.kernel.askToEnd();
    await first.kernel.ended;
    const { kernel } = await start({ port, crashAt: `${point}:${times}` });
    const restarting = client.start(count, null, { runId: "r", onExisting: "restart_closed" });
    const ended = restarting.then((run) => run.result());
    // Nobody serves these: each is one more change that a checkpoint has to write.
    await dieAt(kernel, point, ended, (turn) =>
      client.start(unserved, null, { runId: `more-${turn}` }),
    );
    await start({ port });
    const again = await restarting;
    expect(again.incarnation).toBe(2);
    expect(await ended).toBe(2);
    // The work may have been done before the kill without its report being taken; no third incarnation has begun.
    expect(new Set(done)).toEqual(new Set([1, 2]));
    await worker.close();
  },
);
