import { tmpdir } from "node:os";
import { plan, task } from "@pawl/sdk";
import { beforeEach, describe, expect, it } from "vitest";
import { startPawl } from "./support/pawl-process.js";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forEachTest();

const stuck = task("stuck", { retry: { attempts: 1, onExhausted: "ask" } }).run(
  (): { readonly id: number } => {
    throw new Error("the desk\u001b[31m is closed");
  },
);
const tell = task("tell").run((ctx) => ctx.dependency(stuck, "stuck"));
const desk = plan("desk", {
  tasks: { stuck: { task: stuck }, tell: { task: tell, needs: ["stuck"] } },
  output: "tell",
});

async function start(runId: string): Promise<void> {
  await cli.client.start(desk, undefined, { runId });
  await cli.until(`run:      ${runId}`, "reviews", "list");
}

beforeEach(async () => {
  await cli.client.worker({ serve: [stuck, tell] });
  await start("r");
});

const resolve = (...args: string[]): string[] => ["reviews", "resolve", "1-0", ...args];

describe("pawl reviews show", () => {
  it("says what is known, what may be decided, and by which command", async () => {
    const shown = await cli.out("reviews", "show", "1-0");
    expect(shown).not.toContain("\u001b");
    expect(shown).toMatch(/^Review 1-0 of a task waits for a person\.\n/);
    expect(shown).toMatch(/known: +Task "stuck" used up its only attempt/);
    expect(shown).toMatch(/failures: +attempt 1 at ".*Error: the desk\\u001b\[31m is closed/);
    expect(shown).toContain("choices:  retry, done, skip, fail");
    expect(shown).toContain(
      "  npx --no pawl reviews resolve 1-0 --expected-version 1 --choice CHOICE --reason TEXT\n",
    );
    expect(await cli.json("reviews", "show", "1-0")).toMatchObject([
      { reviewId: "1-0", runId: "r", task: "stuck", subject: "REVIEW_SUBJECT_TASK", version: 1 },
    ]);
  });

  it("says what was decided, by whom and why", async () => {
    await cli.out(...resolve("--choice", "skip", "--reason", "not worth it"));
    const shown = await cli.out("reviews", "show", "1-0");
    expect(shown).toMatch(/^Review 1-0 of a task was resolved: skip\.\n/);
    expect(shown).toMatch(/by: +local \(unauthenticated\)\n/);
    expect(shown).toMatch(/reason: +not worth it\n/);
  });

  it("says which review is not there", async () => {
    const { code, said } = await cli.refusal("reviews", "show", "9-9");
    expect([code, said]).toEqual([1, expect.stringContaining("PAWL_REVIEW_NOT_FOUND")]);
    expect(said).toContain("\n  npx --no pawl reviews list\n");
    expect((await cli.refusal("reviews", "show", "\u001b[2J")).said).not.toContain("\u001b");
  });
});

describe("pawl reviews list", () => {
  it("lists as many as it is told to, of the run that it is told", async () => {
    await start("other");
    const one = await cli.pawl("reviews", "list", "--limit", "1");
    expect(one.out).toContain("Review 1-0 ");
    expect(one.errors).toBe("There are more than 1 review; --limit lists more.\n");
    expect(await cli.json("reviews", "list", "--run", "other")).toMatchObject([{ runId: "other" }]);
    const absent = await cli.refusal("reviews", "list", "--run", "absent");
    expect([absent.code, absent.said]).toEqual([1, expect.stringContaining("PAWL_RUN_NOT_FOUND")]);
  });
});

describe("pawl reviews resolve", () => {
  it("goes on with the output that is given, once", async () => {
    const done = resolve("--choice", "done", "--result", '{"id":7}', "--reason", "by phone");
    expect(await cli.json(...done)).toMatchObject([{ reviewId: "1-0", existing: false }]);
    expect(await cli.out(...done)).toContain("had been resolved as done before");
    const run = cli.client.run("r");
    expect(await run.result({ timeout: "10s" })).toEqual({ id: 7 });
    const other = await cli.refusal(...resolve("--choice", "skip", "--reason", "x"));
    expect([other.code, other.said]).toEqual([
      1,
      [
        "pawl: Expected review 1-0 to be given the choice that is recorded, but this is another one. The recorded decision stays.",
        "Reason: PAWL_FINGERPRINT_CONFLICT (exit code 1)",
        "Next:",
        "  Leave it: a decision is recorded once. Read the one that was made.",
        "  npx --no pawl reviews show 1-0",
        "",
      ].join("\n"),
    ]);
    expect(await cli.out("reviews", "show", "1-0")).toContain("by phone");
  });

  it.each([
    [["--choice", "abandon", "--reason", "x"], 1, "PAWL_ILLEGAL_TRANSITION"],
    [["--choice", "retry", "--reason", "x", "--expected-version", "7"], 1, "PAWL_STALE_VERSION"],
    [["--choice", "retry", "--reason", ""], 1, "PAWL_INVALID_FIELD"],
    [["--choice", "done", "--reason", "x", "--result", "{"], 2, "Expected --result to be JSON"],
    [["--choice", "done", "--reason", "x"], 2, "Expected --result with --choice done"],
  ])("refuses %j, and the review stays open", async (args, code, named) => {
    const refused = await cli.refusal(...resolve(...args));
    expect([refused.code, refused.said]).toEqual([code, expect.stringContaining(named)]);
    expect(await cli.json("reviews", "list")).toMatchObject([{ reviewId: "1-0", version: 1 }]);
  });
});

describe("pawl reviews watch", () => {
  it("prints reviews as they are opened and resolved, and where to go on from", async () => {
    const args = ["reviews", "watch", "--json", "--url", cli.kernel.url];
    const watch = startPawl(tmpdir(), args);
    const line = async (number: number): Promise<unknown> => JSON.parse(await watch.line(number));
    expect(await line(1)).toMatchObject({ changes: [] });
    await start("other");
    await cli.out(...resolve("--choice", "skip", "--reason", "not worth it"));
    expect(await line(2)).toMatchObject({
      changes: [{ reviewId: "2-0", runId: "other", resolution: "REVIEW_CHOICE_UNSPECIFIED" }],
    });
    expect(await line(3)).toMatchObject({
      changes: [{ reviewId: "1-0", resolution: "REVIEW_CHOICE_SKIP", reason: "not worth it" }],
    });
    watch.child.kill();
    await watch.end;
  });

  it("refuses what is no position", async () => {
    const { code, said } = await cli.refusal("reviews", "watch", "--after", "there");
    expect([code, said]).toEqual([2, expect.stringContaining("Expected a position")]);
    const other = await cli.refusal("reviews", "watch", "--after", "AAAA");
    expect([other.code, other.said]).toEqual([1, expect.stringContaining("PAWL_INVALID_POSITION")]);
  });
});
