import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, task } from "@pawl/sdk";
import {
  CRASH_POINTS,
  type CrashPoint,
  readCrashPoints,
} from "@pawl/server/kernel/crash-points.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type KernelProcess,
  type KernelSettings,
  restoreFolder,
  startKernel,
} from "./support/crashing-kernel.js";
import { dieAt, expectDeathAt } from "./support/death.js";
import { connectWorkload, type Workload } from "./support/workload.js";

let dir: string;
let kernels: KernelProcess[];
let workload: Workload | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-crash-"));
  kernels = [];
  workload = undefined;
});

afterEach(async () => {
  await workload?.close();
  for (const kernel of kernels) kernel.kill();
  await Promise.all(kernels.map((kernel) => kernel.ended));
  await rm(dir, { recursive: true, force: true });
});

function start(settings: KernelSettings = {}): KernelProcess {
  const kernel = startKernel(join(dir, "store"), settings);
  kernels.push(kernel);
  return kernel;
}

async function portOf(kernel: KernelProcess): Promise<number> {
  const port = await kernel.port;
  if (port !== undefined) return port;
  throw new Error(`the kernel ended before it listened: ${(await kernel.ended).errors}`);
}

async function expectAllDoneOnce({ acknowledged, calls, outputs }: Workload): Promise<void> {
  const said = await outputs();
  expect(acknowledged).toHaveLength(12);
  expect([...said.keys()]).toEqual(acknowledged);
  for (const [runId, output] of said) {
    const number = runId.slice(4);
    expect(output).toBe(`sent order ${number}; go ${number}; yes, ${runId}`);
  }
  expect([...calls.values()]).toEqual(acknowledged.map(() => 1));
}

/** The kernel dies while `work` is under way; the next one, on the same port, has all and goes on. */
async function dieAtWork(crashAt: string, point: string, work: (w: Workload) => Promise<void>) {
  const kernel = start({ crashAt });
  const port = await portOf(kernel);
  workload = await connectWorkload(port);
  const { outputs, startMore } = workload;
  const started = work(workload);
  await dieAt(kernel, point, started.then(outputs), startMore);
  await portOf(start({ port }));
  await started;
  await expectAllDoneOnce(workload);
}

const pointsOf = (...kinds: string[]): CrashPoint[] =>
  CRASH_POINTS.filter((point) => kinds.some((kind) => point.startsWith(`${kind}:`)));

/** Which points each describe below walks. */
const walked = {
  start: pointsOf("create", "start"),
  work: pointsOf("segment", "checkpoint", "blob"),
  trim: pointsOf("trim", "compact"),
  sweep: pointsOf("sweep"),
  purge: pointsOf("purge"),
  close: pointsOf("close"),
  epoch: pointsOf("epoch"),
};

it("every boundary that the code names is walked", () => {
  expect(Object.values(walked).flat().sort()).toEqual([...CRASH_POINTS].sort());
});

describe("a kernel that dies while it starts", () => {
  it.each(walked.start)("at %s starts the next time, and works", async (point) => {
    await expectDeathAt(start({ crashAt: point }), point);
    workload = await connectWorkload(await portOf(start()));
    await workload.start();
    await expectAllDoneOnce(workload);
  });
});

describe("a kernel that dies at work", () => {
  const cases = walked.work.flatMap((point) => [1, 2, 5].map((count) => [point, count] as const));

  it.each(cases)(
    "at %s, time %i: the next one has all it acknowledged, and effects happen once",
    (point, count) => dieAtWork(`${point}:${count}`, point, (work) => work.start()),
  );

  const laterCases = pointsOf("segment").flatMap((point) =>
    [16, 24, 34, 48].map((count) => [point, count] as const),
  );

  it.each(laterCases)(
    "at %s, time %i, at signals, waits and answers: each is taken once, and no wake-up is lost",
    (point, count) => dieAtWork(`${point}:${count}`, point, (work) => work.start()),
  );

  it.each(walked.trim)("at %s, when the log has become long", (point) =>
    dieAtWork(point, point, async (work) => {
      await work.start();
      await work.fill(1_200);
    }),
  );
});

describe("a kernel that dies at what it does once an hour", () => {
  it.each(walked.sweep)("at %s has all the next time", async (point) => {
    const kernel = start();
    const port = await portOf(kernel);
    workload = await connectWorkload(port);
    await workload.start();
    await workload.outputs();
    kernel.kill();
    await kernel.ended;
    await expectDeathAt(start({ port, crashAt: point, aheadMs: 2 * 3_600_000 }), point);
    await portOf(start({ port }));
    await expectAllDoneOnce(workload);
  });
});

describe("a kernel that dies while it removes a deleted run", () => {
  const cases = walked.purge.flatMap((point) => [1, 2].map((count) => [point, count] as const));

  it.each(cases)(
    "at %s, time %i, serves nothing of it, and the next one finishes",
    async (point, count) => {
      const kernel = start({ crashAt: `${point}:${count}` });
      const port = await portOf(kernel);
      const address = { url: `http://127.0.0.1:${port}` };
      const first = connect(address);
      const run = await first.start(task("never-served"), undefined, { runId: "gone" });
      await run.terminate();
      const deleted = run.delete();
      await expectDeathAt(kernel, point);
      await deleted;
      await first.close();
      await portOf(start({ port }));
      await using client = connect(address);
      const again = client.start(task("never-served"), undefined, { runId: "gone" });
      await expect(again).rejects.toMatchObject({ code: "PAWL_RUN_DELETED" });
    },
  );
});

describe("a kernel that dies while it ends", () => {
  it.each(walked.close)("at %s has all the next time", async (point) => {
    const kernel = start({ crashAt: point });
    const port = await portOf(kernel);
    workload = await connectWorkload(port);
    await workload.start();
    await workload.outputs();
    kernel.askToEnd();
    await expectDeathAt(kernel, point);
    await portOf(start({ port }));
    await expectAllDoneOnce(workload);
  });
});

describe("a new epoch whose making is killed", () => {
  it.each(walked.epoch)("at %s is there whole, or not at all, and all is served", async (point) => {
    const kernel = start();
    const port = await portOf(kernel);
    workload = await connectWorkload(port);
    await workload.start();
    await workload.outputs();
    kernel.kill();
    await kernel.ended;
    const restoring = restoreFolder(join(dir, "store"), { crashAt: point });
    kernels.push(restoring);
    await expectDeathAt(restoring, point);
    const next = start({ port });
    await portOf(next);
    await expectAllDoneOnce(workload);
    next.askToEnd();
    await next.ended;
    const again = restoreFolder(join(dir, "store"));
    kernels.push(again);
    const { how, output } = await again.ended;
    expect(how).toBe("exit code 0");
    expect(JSON.parse(output)).toMatchObject({ epoch: point === "epoch:before" ? 2 : 3 });
  });
});

describe("the setting", () => {
  it("is off when the environment does not ask for it", () => {
    expect(readCrashPoints({})).toBeUndefined();
    expect(readCrashPoints({ PAWL_CRASH_AT: "" })).toBeUndefined();
  });

  it.each(["segment", "segment:before:0", "segment:before:x", "elsewhere:1"])(
    "refuses %s, naming the points",
    (text) => {
      expect(() => readCrashPoints({ PAWL_CRASH_AT: text })).toThrow(
        /PAWL_CRASH_AT .*create:marked, .*segment:before/,
      );
    },
  );
});
