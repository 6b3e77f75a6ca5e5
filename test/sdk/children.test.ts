import { type Client, connect, json, plan, RunFailed, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClockedKernel } from "../field-reports/support/clocked-kernel.js";

let kernel: ClockedKernel;
let client: Client;

beforeEach(async () => {
  kernel = await ClockedKernel.open();
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  await kernel.close();
  expect(kernel.faults).toEqual([]);
});

const square = task("square", { input: json<number>(), output: json<number>() }).run(
  (_ctx, n) => n * n,
);
const patient = task("patient").run(async (ctx) => {
  await ctx.waitSignal("never");
});

/** Waits until a run has ended; the answer is its status. */
async function end(runId: string): Promise<string> {
  const outcome = await client
    .run(runId)
    .result({ timeout: "10s" })
    .catch((error: unknown) => error);
  return outcome instanceof Error ? outcome.name : "completed";
}

describe("ctx.child", () => {
  test("runs with its own history, and gives its result to the code", async () => {
    const sum = task("sum", { output: json<{ ids: string[]; sum: number }>() }).run(async (ctx) => {
      const first = await ctx.startChild(square, 3, { key: "a" });
      const second = await ctx.startChild(square, 4, { key: "b" });
      const values = await Promise.all([first.result(), second.result()]);
      return { ids: [first.runId, second.runId], sum: values[0] + values[1] };
    });
    await client.worker({ serve: [sum, square], slots: 1 });
    const run = await client.start(sum, undefined, { runId: "r/1" });
    expect(await run.result({ timeout: "10s" })).toEqual({
      ids: ["r%2F1/1/main/square/a", "r%2F1/1/main/square/b"],
      sum: 25,
    });
    expect(await client.run("r%2F1/1/main/square/b").result()).toBe(16);
    const told: string[] = [];
    for await (const { events } of client.api.runs.getHistory({ runId: "r%2F1/1/main/square/a" })) {
      told.push(...events.map(({ detail }) => detail));
    }
    expect(told[0]).toBe('Workflow "square" began, as a child of run "r/1".');
    expect(told).toContain('It tells its parent "r/1" of its end.');
  });

  test("is started once, however often the code runs, and its result survives the kernel", async () => {
    let started = 0;
    const child = task("child", { output: json<number>() }).run(async (ctx) => {
      started++;
      await ctx.waitSignal("go");
      return started;
    });
    const parent = task("parent", { output: json<number>(), retry: { initial: "1ms" } }).run(
      async (ctx) => {
        const run = await ctx.startChild(child);
        if (ctx.attempt === 1) throw new Error("again");
        return run.result();
      },
    );
    await client.worker({ serve: [parent, child], slots: 2 });
    const run = await client.start(parent, undefined, { runId: "r" });
    for (let why = ""; !why.includes("until its child"); ) {
      await kernel.time.pass(1_000);
      why = (await client.api.runs.getRun({ runId: "r" })).run?.why ?? "";
    }
    await kernel.kill();
    await kernel.start();
    await client.close({ drainMs: 0 });
    client = connect({ url: kernel.url, onConnection: () => undefined });
    await client.worker({ serve: [parent, child], slots: 2 });
    await client.run("r/1/main/child").signal("go");
    expect(await client.run("r").result({ timeout: "10s" })).toBe(started);
    expect(run.runId).toBe("r");
  });

  test("that fails throws what it failed with", async () => {
    const broken = task("broken", { retry: { attempts: 1 } }).run(() => {
      throw new Error("no luck");
    });
    const parent = task("parent", { output: json<string>(), retry: { attempts: 1 } }).run(
      async (ctx) => {
        try {
          await ctx.child(broken);
          return "fine";
        } catch (error) {
          return error instanceof RunFailed ? error.message : String(error);
        }
      },
    );
    await client.worker({ serve: [parent, broken], slots: 2 });
    const run = await client.start(parent, undefined, { runId: "r" });
    expect(await run.result({ timeout: "10s" })).toContain("no luck");
  });

  test("may be a plan", async () => {
    const squares = plan("squares", {
      tasks: { only: { task: square, input: 5 } },
      output: "only",
    });
    const parent = task("parent").run((ctx) => ctx.child(squares, undefined, { name: "five" }));
    await client.worker({ serve: [parent, square], slots: 2 });
    const run = await client.start(parent, undefined, { runId: "r" });
    expect(await run.result({ timeout: "10s" })).toBe(25);
  });
});

describe("a child whose parent ends first", () => {
  test.each([
    ["cancel", "RunCancelled"],
    ["terminate", "RunTerminated"],
  ] as const)("ends with it by %s", async (parentClose, ended) => {
    const parent = task("parent").run(async (ctx) => {
      await ctx.startChild(patient, undefined, { parentClose });
    });
    await client.worker({ serve: [parent, patient], slots: 2 });
    const run = await client.start(parent, undefined, { runId: "r" });
    await run.result({ timeout: "10s" });
    expect(await end("r/1/main/patient")).toBe(ended);
  });

  test("goes on by itself when it is detached", async () => {
    const parent = task("parent").run(async (ctx) => {
      await ctx.startChild(patient, undefined, { parentClose: "detach" });
    });
    await client.worker({ serve: [parent, patient], slots: 2 });
    const run = await client.start(parent, undefined, { runId: "r" });
    await run.result({ timeout: "10s" });
    await client.run("r/1/main/patient").signal("never");
    expect(await end("r/1/main/patient")).toBe("completed");
  });

  test("ends with it also when the parent begins once more, and the next has children of its own", async () => {
    const parent = task("parent").run(async (ctx) => {
      await ctx.startChild(patient);
      await ctx.waitSignal("end");
    });
    await client.worker({ serve: [parent, patient], slots: 2 });
    await client.start(parent, undefined, { runId: "r" });
    for (let why = ""; !why.includes('signal "end"'); ) {
      why = (await client.api.runs.getRun({ runId: "r" })).run?.why ?? "";
    }
    await client.start(parent, undefined, { runId: "r", onExisting: "replace_open" });
    expect(await end("r/1/main/patient")).toBe("RunCancelled");
    await client.run("r").signal("end");
    expect(await end("r")).toBe("completed");
    expect(await end("r/2/main/patient")).toBe("RunCancelled");
  });
});
