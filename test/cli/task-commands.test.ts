import { plan, type Run, task } from "@pawl/sdk";
import { beforeEach, describe, expect, it } from "vitest";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forEachTest();

const call = task("call", { retry: { attempts: 3, initial: "1h", jitter: 0 } }).run(
  (): { readonly id: number } => {
    throw new Error("503 from the desk");
  },
);
const tell = task("tell").run((ctx) => ctx.dependency(call, "call"));
const desk = plan("desk", {
  tasks: { call: { task: call }, tell: { task: tell, needs: ["call"] } },
  output: "tell",
});

let run: Run<unknown>;

beforeEach(async () => {
  await cli.client.worker({ serve: [call, tell] });
  run = await cli.client.start(desk, undefined, { runId: "r" });
  await cli.until("BACKOFF", "task", "show", "r", "call");
});

const versionOf = async (name: string): Promise<string> =>
  `${(await cli.json("task", "show", "r", name))[0]?.["version"]}`;

describe("pawl task show", () => {
  it("says where a task stands, its policy and its version, and what may be done about it", async () => {
    expect(await cli.out("task", "show", "r", "call")).toBe(
      [
        "Task call of run r is BACKOFF.",
        '  why:          Task "call" waits 60 min for attempt 2 of 3: the last one failed with Error: 503 from the desk.',
        "  until:        2026-05-28T21:26:40+00:00 (in 1h)",
        "  attempt:      1, 2 left",
        "  last failure: Error: 503 from the desk",
        "  kind:         call",
        "  retry:        at most 3 attempts, then it fails; 1h before the second, 2 times as long before each further one, at most 4d 4h; 0% of each wait random; a person is asked after 5 lost workers in a row",
        "  timeouts:     schedule-to-start none; start-to-close none; schedule-to-close none; lease 30s",
        "  version:      2",
        "",
        "Next:",
        "  npx --no pawl task now r call --expected-version 2 --reason TEXT",
        "  npx --no pawl task complete r call --expected-version 2 --reason TEXT",
        "  npx --no pawl task fail r call --expected-version 2 --reason TEXT",
        "  npx --no pawl task reset r call --expected-version 2 --reason TEXT",
        "  npx --no pawl op list r",
        "  npx --no pawl why r",
        "",
      ].join("\n"),
    );
    const [shown] = await cli.json("task", "show", "r", "call");
    expect(shown).toMatchObject({
      name: "call",
      status: "TASK_STATUS_BACKOFF",
      version: 2,
      retry: { attemptsMax: 3, initialInterval: "3600s", onExhausted: "ON_EXHAUSTED_FAIL" },
      timeouts: { lease: "30s" },
    });
  });

  it("offers no change that a task does not allow", async () => {
    const blocked = await cli.out("task", "show", "r", "tell");
    expect(blocked).toContain("  needs:    call\n");
    expect(blocked.split("Next:\n")[1]).toBe("  npx --no pawl op list r\n  npx --no pawl why r\n");
  });

  it("names the run's tasks when there is none of that name", async () => {
    const { code, said } = await cli.refusal("task", "show", "r", "col\u001b[31ml");
    expect(code).toBe(1);
    expect(said).toContain("PAWL_TASK_NOT_FOUND");
    expect(said).toContain("\n  npx --no pawl run show r\n");
    expect(said).not.toContain("\u001b");
    const absent = await cli.refusal("task", "show", "absent", "call");
    expect(absent.said).toContain("PAWL_RUN_NOT_FOUND");
    expect(absent.said).toContain("\n  npx --no pawl run list\n");
  });
});

describe("pawl task now", () => {
  it("makes the next attempt due at once", async () => {
    const now = await cli.out("task", "now", "r", "call", "--reason", "the desk is back");
    expect(now).toContain("Task call of run r is READY.");
    expect(now).toContain("its next attempt is due now");
    await cli.until("attempt:      2, 1 left", "task", "show", "r", "call");
  });

  it("is refused for a task that does not back off", async () => {
    const { code, said } = await cli.refusal("task", "now", "r", "tell", "--reason", "x");
    expect(code).toBe(1);
    expect(said).toContain('but "tell" is BLOCKED.\n');
    expect(said).toContain("Reason: PAWL_ILLEGAL_TRANSITION (exit code 1)");
    expect(said).toContain("\nNext:\n  Complete what it needs");
    expect(said).toContain("\n  npx --no pawl task show r tell\n");
  });
});

describe("pawl task complete", () => {
  it("completes it with an output by hand, and what needs it goes on with that", async () => {
    const done = await cli.out(
      ...["task", "complete", "r", "call", "--output", '{"id":7}', "--reason", "called by phone"],
    );
    expect(done).toContain("Task call of run r is COMPLETED. It was completed by hand");
    expect(await run.result({ timeout: "10s" })).toEqual({ id: 7 });
    expect(await cli.out("task", "show", "r", "call")).toContain('  output:       {"id":7}\n');
    expect(await cli.out("run", "history", "r")).toContain("called by phone");
  });

  it("is the same change when its version is restated, and refused as another one", async () => {
    const seen = ["--expected-version", await versionOf("call"), "--reason", "by phone"];
    const complete = ["task", "complete", "r", "call", ...seen];
    expect(await cli.json(...complete, "--output", "1")).toMatchObject([
      { runId: "r", task: "call", existing: false, status: "TASK_STATUS_COMPLETED", version: 3 },
    ]);
    expect(await cli.json(...complete, "--output", "1")).toMatchObject([
      { existing: true, version: 3 },
    ]);
    expect(await cli.out(...complete, "--output", "1")).toContain(
      "had been changed so before; nothing was changed, and it is COMPLETED",
    );
    const { code, said } = await cli.refusal(...complete, "--output", "2", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(said).error).toMatchObject({
      exitCode: 1,
      reason: expect.stringMatching(/^PAWL_(STALE_VERSION|RUN_OVER)$/),
    });
  });

  it.each([
    [["--output", "{"], "Expected --output to be JSON or @FILE"],
    [["--output", "@absent.json"], "Expected the file of --output to be readable"],
    [["--expected-version", "one"], "Expected a whole number from 0 to"],
  ])("refuses %j before anything is sent", async (args, named) => {
    const { code, said } = await cli.refusal(
      ...["task", "complete", "r", "call", "--reason", "x", ...args],
    );
    expect([code, said]).toEqual([2, expect.stringContaining(named)]);
    expect(await versionOf("call")).toBe("2");
  });
});

describe("pawl task fail", () => {
  it("fails it for good, and with it the run", async () => {
    const failed = await cli.out("task", "fail", "r", "call", "--reason", "the desk is gone");
    expect(failed).toContain("Task call of run r is FAILED. It was failed by hand.");
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "PAWL_RUN_FAILED" });
    expect(await cli.out("why", "r")).toContain("the desk is gone");
    const over = await cli.refusal("task", "fail", "r", "call", "--reason", "again");
    expect([over.code, over.said]).toEqual([1, expect.stringContaining("PAWL_RUN_OVER")]);
  });

  it("wants a reason, and a version that the task has", async () => {
    const without = await cli.refusal("task", "fail", "r", "call");
    expect([without.code, without.said]).toEqual([2, expect.stringContaining("--reason")]);
    const empty = await cli.refusal("task", "fail", "r", "call", "--reason", "");
    expect([empty.code, empty.said]).toEqual([1, expect.stringContaining("PAWL_INVALID_FIELD")]);
    const stale = await cli.refusal(
      ...["task", "fail", "r", "call", "--reason", "x", "--expected-version", "1"],
    );
    expect(stale.code).toBe(1);
    expect(stale.said).toContain("PAWL_STALE_VERSION");
    expect(stale.said).toContain("\n  npx --no pawl task show r call\n");
  });
});

describe("pawl task reset", () => {
  it("gives it all its attempts anew", async () => {
    expect(await cli.out("task", "show", "r", "call")).toContain("attempt:      1, 2 left");
    expect(await cli.out("task", "reset", "r", "call", "--reason", "a new desk")).toContain(
      "Task call of run r is BACKOFF. It has all its attempts anew.",
    );
    expect(await cli.out("task", "show", "r", "call")).toContain("attempt:      1, 3 left");
  });
});

describe("pawl task policy", () => {
  const change = (...args: string[]): string[] => ["task", "policy", "r", "call", ...args];
  const because = ["--reason", "the desk is slow"];

  it("changes what is named, and leaves all else of the policy as it was", async () => {
    const changed = await cli.out(
      ...change("--attempts-max", "9", "--non-retryable", "Gone", "--on-exhausted", "ask"),
      ...["--start-to-close", "5m", ...because],
    );
    expect(changed).toBe(
      [
        "Task call of run r has another policy from now on; a backoff that has begun stays as it is.",
        "  retry:    at most 9 attempts, then a person is asked; 1h before the second, 2 times as long before each further one, at most 4d 4h; 0% of each wait random; a person is asked after 5 lost workers in a row; never after Gone",
        "  timeouts: schedule-to-start none; start-to-close 5m; schedule-to-close none; lease 30s",
        "",
        "Next:",
        "  npx --no pawl task show r call",
        "",
      ].join("\n"),
    );
    await cli.out(
      ...change("--initial-interval", "500ms", "--interval-max", "2s", "--jitter", "0.5"),
      ...["--backoff-coefficient", "1.5", "--worker-losses-max", "1", "--non-retryable", ""],
      ...["--start-to-close", "none", "--lease", "2m", ...because],
    );
    const [shown] = await cli.json("task", "show", "r", "call");
    expect(shown).toMatchObject({
      attemptsLeft: 8,
      retry: {
        attemptsMax: 9,
        initialInterval: "0.500s",
        backoffCoefficient: 1.5,
        intervalMax: "2s",
        jitter: 0.5,
        nonRetryable: [],
        onExhausted: "ON_EXHAUSTED_ASK",
        workerLossesMax: 1,
      },
    });
    expect(shown?.["timeouts"]).toEqual({ lease: "120s" });
  });

  it("is the same change when its version is restated", async () => {
    const seen = ["--expected-version", await versionOf("call"), ...because];
    const more = change("--attempts-max", "9", ...seen);
    expect(await cli.json(...more)).toMatchObject([{ existing: false, version: 3 }]);
    expect(await cli.json(...more)).toMatchObject([{ existing: true, version: 3 }]);
    expect(await cli.out(...more)).toContain("had been given this policy before");
  });

  it.each([
    [[], "at least one option that changes the policy"],
    [["--attempts-max", "0"], "whole number from 1 to 10000"],
    [["--jitter", "2"], "a number from 0 to 1"],
    [["--lease", "soon"], "such as 90d, 12h"],
    [["--start-to-close", "5"], "such as 90d, 12h"],
    [["--on-exhausted", "pray"], "fail, ask"],
  ])("refuses %j before anything is sent", async (args, named) => {
    const { code, said } = await cli.refusal(...change(...args, ...because));
    expect([code, said]).toEqual([2, expect.stringContaining(named)]);
    expect(await versionOf("call")).toBe("2");
  });

  it("is told by the kernel which bound it breaks", async () => {
    const used = await cli.refusal(...change("--attempts-max", "1", ...because));
    expect(used.code).toBe(1);
    expect(used.said).toContain("policy.retry.attempts_max");
    expect(used.said).toContain("above the 1 attempts that are used");
    const lease = await cli.refusal(...change("--lease", "1ms", ...because));
    expect(lease.said).toContain("policy.timeouts.lease");
  });
});
