import { json, operation, RunFailed, workflow } from "@pawl/sdk";
import { openTestEnvironment, type TestEnvironment, testSink } from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";

const patient = workflow("patient", { version: 1, runTimeout: "30d" }).run(async (ctx) => {
  await ctx.waitSignal("never");
});

const timedOut = {
  failure: { code: "PAWL_RUN_TIMED_OUT", message: expect.stringContaining("run timeout of") },
};

async function whyOf(env: TestEnvironment, runId: string): Promise<string> {
  return (await env.kernel.run(runId).get()).why;
}

describe("a run with a timeout", () => {
  test("fails after its time, whatever it waits for, and the workflow says how long that is", async () => {
    await using env = await openTestEnvironment({ startAt: new Date("2030-01-01T00:00:00Z") });
    await env.worker({ serve: [patient] });
    const run = await env.kernel.start(patient, undefined, { runId: "p" });
    const shorter = await env.kernel.start(patient, undefined, { runId: "s", runTimeout: "1h" });
    await env.advance("1h");
    await expect(shorter.result()).rejects.toMatchObject(timedOut);
    expect(await whyOf(env, "p")).toMatch(
      /waits for signal "never".* Its run timeout ends it in 30 days\.$/,
    );
    const { run: shown } = await env.kernel.api.runs.getRun({ runId: "p" });
    expect(shown?.runTimeout?.seconds).toBe(2_592_000n);
    expect(shown?.deadlineAt?.seconds).toBe(BigInt(Date.parse("2030-01-31T00:00:00Z") / 1000));
    await env.advance("29d");
    expect(await whyOf(env, "p")).toContain("waits for signal");
    await env.advance("1d");
    await expect(run.result()).rejects.toThrow(RunFailed);
    await expect(run.result()).rejects.toMatchObject(timedOut);
    expect(await whyOf(env, "p")).toContain("It failed because its time was over.");
  });

  test("fails also while it is paused, and over a restart of the kernel", async () => {
    await using env = await openTestEnvironment();
    await env.worker({ serve: [patient] });
    const run = await env.kernel.start(patient, undefined, { runId: "p", runTimeout: "1d" });
    await env.settle();
    await run.pause({ reason: "look" });
    await env.advance("23h");
    await env.crash({ kill: "both" });
    expect(await whyOf(env, "p")).toContain("Its run timeout ends it in");
    await env.advance("2h");
    await expect(run.result()).rejects.toMatchObject(timedOut);
    const events: string[] = [];
    for await (const { events: page } of env.kernel.api.runs.getHistory({ runId: "p" })) {
      events.push(...page.map(({ type }) => type));
    }
    expect(events.slice(-2)).toEqual(["RunTimedOut", "RunClosed"]);
  });

  test("undoes what was recorded to be undone before it has failed", async () => {
    const airline = testSink({ name: "airline" });
    const release = operation("release", {
      payload: json<string>(),
      result: json<boolean>(),
      sink: { kind: "reconcilable" },
      call: (op) => airline.call(op, () => true),
      lookup: (op) => airline.lookup<boolean>(op),
    });
    const holding = workflow("holding", { version: 1 }).run(async (ctx) => {
      ctx.onRollback(release, "1a", { target: "airline" });
      await ctx.waitSignal("never");
    });
    await using env = await openTestEnvironment();
    await env.worker({ serve: [holding] });
    const run = await env.kernel.start(holding, undefined, { runId: "h", runTimeout: "1d" });
    await env.advance("1d");
    await expect(run.result()).rejects.toMatchObject(timedOut);
    expect(env.effects(airline).map(({ times }) => times)).toEqual([1]);
  });
});

describe("the deadline of a parent", () => {
  test("is never outlived by a child, unless that is detached", async () => {
    const parent = workflow("parent", { version: 1, runTimeout: "2d" }).run(async (ctx) => {
      for (const parentClose of ["cancel", "detach"] as const) {
        await ctx.startChild(patient, undefined, { key: parentClose, parentClose });
      }
      await ctx.startChild(patient, undefined, { key: "short", runTimeout: "1d" });
      return "started";
    });
    const waiting = workflow("waiting", { version: 1, runTimeout: "2d" }).run(async (ctx) => {
      const child = await ctx.startChild(patient, undefined, { parentClose: "cancel" });
      return child.result();
    });
    await using env = await openTestEnvironment({ startAt: new Date("2030-01-01T00:00:00Z") });
    await env.worker({ serve: [parent, waiting, patient] });
    await env.kernel.start(parent, undefined, { runId: "p" });
    await env.kernel.start(waiting, undefined, { runId: "w" });
    await env.settle();
    const deadlineOf = async (runId: string): Promise<string | undefined> => {
      const { run } = await env.kernel.api.runs.getRun({ runId });
      return run?.deadlineAt && new Date(Number(run.deadlineAt.seconds) * 1000).toISOString();
    };
    const deadlines = ["cancel", "detach", "short"].map((key) =>
      deadlineOf(`p/1/main/patient/${key}`),
    );
    expect((await Promise.all(deadlines)).map((at) => at?.slice(0, 10))).toEqual([
      ...["2030-01-03", "2030-01-31", "2030-01-02"],
    ]);
    await env.advance("3d");
    // Both are due at once: it is stopped by its own deadline or by its parent, whichever comes first.
    const { result } = await env.kernel.api.runs.getResult({ runId: "w/1/main/patient" });
    expect(["PAWL_RUN_TIMED_OUT", "PAWL_RUN_CANCELLED"]).toContain(result?.failure?.code);
    expect(await whyOf(env, "w")).toContain("It failed because its time was over.");
  });
});
