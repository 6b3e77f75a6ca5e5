// Goal: an operator's program can step in for a task that is stuck, on what it has seen, and each act is recorded.
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { json, plan, type Run, type ShownTask, task } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";

const each = eachEmbedded();

const failing = { attempts: 3, initial: "1d", jitter: 0 } as const;

/** Its first attempt fails, and the next is due tomorrow. */
const flaky = task("flaky", { output: json<string>(), retry: failing }).run((ctx) => {
  if (ctx.attempt === 1) throw new Error("the disk is full");
  return `attempt ${ctx.attempt}, of which ${ctx.leaseVersion} leases`;
});

const greet = task("greet", { input: json<string>(), output: json<string>() });
const shout = task("shout", { output: json<string>() }).run((ctx) =>
  String(ctx.dependency(greet)).toUpperCase(),
);
const welcome = plan("welcome", {
  input: json<string>(),
  tasks: { greet: { task: greet }, shout: { task: shout, needs: ["greet"] } },
  output: "shout",
});

/** Waits until a task stands there, and gives it as it was seen. */
async function seeTask(run: Run, name: string, status: TaskStatus): Promise<ShownTask> {
  await expect.poll(async () => (await run.task(name)).status, { timeout: 20_000 }).toBe(status);
  return await run.task(name);
}

async function startFlaky(): Promise<Run<string>> {
  await each.kernel.worker({ serve: [flaky] });
  return await each.kernel.start(flaky, undefined, { runId: "r" });
}

describe("a task that is stuck", () => {
  test("is run now instead of after its backoff", async () => {
    const run = await startFlaky();
    const shown = await seeTask(run, "main", TaskStatus.BACKOFF);
    const answer = await run.changeTask(shown, { change: "now", reason: "there is room again" });
    expect(answer).toMatchObject({ existing: false, status: TaskStatus.READY });
    expect(answer.version).toBeGreaterThan(shown.version);
    expect(await run.result({ timeout: "20s" })).toBe("attempt 2, of which 2 leases");
    const changes: string[] = [];
    for await (const { type, detail, principal } of run.watch()) {
      if (type === "TaskChanged") changes.push(`${principal}: ${detail}`);
    }
    expect(changes).toEqual([expect.stringMatching(/^local: .*there is room again/)]);
  });

  test("is completed by hand, and what needs it goes on with the output", async () => {
    await each.kernel.worker({ serve: [shout] });
    const run = await each.kernel.start(welcome, "Ada", { runId: "r" });
    const shown = await seeTask(run, "greet", TaskStatus.READY);
    const complete = { change: "complete", output: "hello", reason: "said on the phone" } as const;
    expect(await run.changeTask(shown, complete)).toMatchObject({ status: TaskStatus.COMPLETED });
    expect(await run.result({ timeout: "20s" })).toBe("HELLO");
    expect((await run.changeTask(shown, complete)).existing).toBe(true);
  });

  test("is completed without an output", async () => {
    const run = await each.kernel.start(flaky, undefined, { runId: "r" });
    await run.changeTask(await run.task("main"), { change: "complete", reason: "not needed" });
    expect(await run.result({ timeout: "20s" })).toBeUndefined();
  });

  test("is failed by hand, for the reason given", async () => {
    const run = await startFlaky();
    const shown = await seeTask(run, "main", TaskStatus.BACKOFF);
    await run.changeTask(shown, { change: "fail", reason: "nobody wants it any more" });
    await expect(run.result({ timeout: "20s" })).rejects.toThrow(/nobody wants it any more/);
  });

  test("gets all its attempts anew", async () => {
    const run = await startFlaky();
    const shown = await seeTask(run, "main", TaskStatus.BACKOFF);
    expect((await run.task("main")).attemptsLeft).toBe(2);
    await run.changeTask(shown, { change: "reset", reason: "the disk was full" });
    expect((await run.task("main")).attemptsLeft).toBe(3);
  });

  test("gets another retry policy and other timeouts, each taking the place of the plan's", async () => {
    const run = await startFlaky();
    const shown = await seeTask(run, "main", TaskStatus.BACKOFF);
    const answer = await run.changeTask(shown, {
      change: "policy",
      retry: { attempts: 7 },
      reason: "give it time",
    });
    expect(answer.status).toBe(TaskStatus.BACKOFF);
    const changed = await run.task("main");
    expect(changed.attemptsLeft).toBe(6);
    await run.changeTask(changed, {
      change: "policy",
      timeouts: { scheduleToClose: "1s" },
      reason: "it is too late by then",
    });
    await expect(run.result({ timeout: "20s" })).rejects.toThrow(/schedule-to-close/i);
  });
});

describe("a change of a task", () => {
  test("is refused when the task is another than the one seen, and when its state does not allow it", async () => {
    const run = await each.kernel.start(flaky, undefined, { runId: "r" });
    const shown = await run.task("main");
    const reason = "on second thought";
    await expect(run.changeTask(shown, { change: "now", reason })).rejects.toMatchObject({
      name: "Rejected",
      code: "PAWL_ILLEGAL_TRANSITION",
    });
    const other = { name: "main", version: shown.version + 1 };
    await expect(run.changeTask(other, { change: "fail", reason })).rejects.toMatchObject({
      code: "PAWL_STALE_VERSION",
    });
    const none = { name: "nosuch", version: 0 };
    await expect(run.changeTask(none, { change: "fail", reason })).rejects.toMatchObject({
      name: "NotFound",
      code: "PAWL_TASK_NOT_FOUND",
    });
    await run.terminate();
    await expect(run.changeTask(shown, { change: "fail", reason })).rejects.toMatchObject({
      code: "PAWL_RUN_OVER",
    });
  });

  test("that is ill-formed is not sent", async () => {
    const run = each.kernel.run("nosuch");
    const shown = { name: "main", version: 1 };
    const policy = { change: "policy", retry: { attempts: 0.5 }, reason: "half" } as const;
    await expect(run.changeTask(shown, policy)).rejects.toThrow(/retry\.attempts of task "main"/);
    const change: string = "vanish";
    await expect(
      Reflect.apply(run.changeTask, run, [shown, { change, reason: "?" }]),
    ).rejects.toThrow(/one of now, complete, fail, reset, policy, but it is "vanish"/);
  });
});
