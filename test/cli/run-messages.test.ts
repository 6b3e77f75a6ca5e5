import { json, task, update } from "@pawl/sdk";
import { beforeEach, describe, expect, it } from "vitest";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forEachTest();

const ask = task("ask", { input: json<{ question: string }>() }).run(async (ctx, { question }) => {
  const schema = { type: "object", required: ["cents"] };
  return ctx.ask<{ cents: number }>("much", {
    question,
    schema,
    addressee: "role:finance",
    expiresIn: "1h",
  });
});

const wait = task("wait").run(async (ctx) => {
  const first = await ctx.waitSignal<number | { cents: number }>("paid");
  return first.status === "received" ? first.value : first.status;
});

const move = update("move", { input: json<string>(), result: json<{ to: string }>() });

const moves = task("moves").run(async (ctx) => {
  ctx.publish("city", "Bonn");
  const first = await ctx.waitUpdate(move);
  if (first.value === "Bonn") await first.refuse("It is there already.");
  else await first.accept({ to: first.value });
  ctx.publish("city", first.value);
  await ctx.waitSignal("end");
});

beforeEach(async () => {
  await cli.client.worker({ serve: [ask, wait, moves] });
});

const asked = "How\u001b[31m much?";

async function openQuestion(): Promise<void> {
  await cli.client.start(ask, { question: asked }, { runId: "r" });
  await cli.until("1 question", "inputs", "list");
}

describe("pawl inputs", () => {
  beforeEach(openQuestion);

  it("list says what is asked of whom until when, and how to answer, safe for a terminal", async () => {
    expect(await cli.outByHour("inputs", "list")).toBe(
      [
        "1 question, oldest first.",
        "",
        "Input request 1-0 waits for an answer.",
        "  question:    How\\u001b[31m much?",
        "  for:         role:finance",
        '  schema:      {"type":"object","required":["cents"]}',
        "  run:         r",
        "  task:        main",
        "  name:        much",
        "  asked:       2026-05-28T20h",
        "  expires:     2026-05-28T21h",
        "  version:     1",
        "  answer with: npx --no pawl inputs answer 1-0 --expected-version 1 --value JSON",
        "",
      ].join("\n"),
    );
    expect(await cli.json("inputs", "list", "--run", "r")).toMatchObject([
      { inputId: "1-0", question: asked, status: "INPUT_STATUS_OPEN", addressee: "role:finance" },
    ]);
    expect(await cli.json("inputs", "list", "--addressee", "role:legal")).toEqual([]);
    expect(await cli.out("why", "r")).toContain("\n  npx --no pawl inputs list --run r\n");
  });

  it("answer gives the task its answer once, and says when it had it before", async () => {
    const answer = ["inputs", "answer", "1-0", "--value", '{"cents":5}'];
    expect(await cli.json(...answer)).toMatchObject([
      { inputId: "1-0", existing: false, version: 2 },
    ]);
    expect(await cli.out(...answer)).toContain("had been answered so before; nothing was changed");
    const second = await cli.refusal("inputs", "answer", "1-0", "--value", '{"cents":6}');
    expect(second.said).toBe(
      [
        'pawl: Expected the answer that question 1-0 was given, but this is another one. local (unauthenticated) answered with {"cents":5}. That stays: a question is answered once.',
        "Reason: PAWL_FINGERPRINT_CONFLICT (exit code 1)",
        "Next:",
        "  Nothing is left to answer; the task goes on with what was recorded.",
        "  npx --no pawl why r",
        "",
      ].join("\n"),
    );
    const other = await cli.pawl("inputs", "answer", "1-0", "--value", '{"cents":6}', "--json");
    expect(other.code).toBe(1);
    expect(JSON.parse(other.errors).error.reason).toMatch(/^PAWL_/);
    const { client } = cli;
    expect(await client.run("r").result({ timeout: "10s" })).toMatchObject({
      status: "answered",
      value: { cents: 5 },
    });
  });

  it("answer --decline tells the task why", async () => {
    const decline = ["inputs", "answer", "1-0", "--decline", "not for us to say"];
    expect(await cli.out(...decline)).toContain("Input request 1-0 is declined");
    expect(await cli.out(...decline)).toContain("had been declined so before");
    expect(await cli.client.run("r").result({ timeout: "10s" })).toMatchObject({
      status: "declined",
      reason: "not for us to say",
    });
    expect(await cli.out("inputs", "list")).toContain("No question matches");
  });
});

describe("an answer by pawl inputs answer", () => {
  beforeEach(openQuestion);

  it.each([
    [["--value", "{"], 2, "Expected --value to be JSON or @FILE"],
    [["--value", "@absent"], 2, "Expected the file of --value to be readable"],
    [[], 2, "exactly one of --value and --decline"],
    [["--value", "1", "--decline", "x"], 2, "exactly one of --value and --decline"],
    [["--value", "1", "--expected-version", "0"], 2, "whole number from 1"],
    [["--value", "{}"], 1, "required property 'cents'"],
    [["--value", '{"cents":1}', "--expected-version", "7"], 1, "PAWL_STALE_VERSION"],
  ])("%j is refused, and the question stays open", async (args, code, named) => {
    const refused = await cli.refusal("inputs", "answer", "1-0", ...args);
    expect([refused.code, refused.said]).toEqual([code, expect.stringContaining(named)]);
    expect(await cli.json("inputs", "list")).toMatchObject([{ version: 1 }]);
  });

  it("comes too late for a question that has expired, and for one that is not there", async () => {
    await cli.kernel.time.pass(2 * 3_600_000, 60_000);
    const late = await cli.refusal("inputs", "answer", "1-0", "--value", '{"cents":1}');
    expect([late.code, late.said]).toEqual([1, expect.stringMatching(/expired|EXPIRED/)]);
    const absent = await cli.refusal("inputs", "answer", "9-9", "--value", "1");
    expect([absent.code, absent.said]).toEqual([
      1,
      expect.stringContaining("PAWL_INPUT_NOT_FOUND"),
    ]);
    expect(absent.said).toContain("\n  npx --no pawl inputs list\n");
  });
});

describe("pawl signal", () => {
  beforeEach(async () => {
    await cli.client.start(wait, undefined, { runId: "r" });
  });

  it("reaches the task that waits for it, once for each request id", async () => {
    const paid = ["signal", "r", "paid", "--payload", '{"cents":5}', "--request-id", "bank-1"];
    expect(await cli.json(...paid)).toMatchObject([
      { runId: "r", name: "paid", requestId: "bank-1", existing: false },
    ]);
    expect(await cli.out(...paid)).toContain("nothing was changed");
    expect(await cli.client.run("r").result({ timeout: "10s" })).toEqual({ cents: 5 });
    const over = await cli.refusal("signal", "r", "paid");
    expect([over.code, over.said]).toEqual([
      1,
      [
        'pawl: Expected run "r" to be open for a signal, but it is COMPLETED. Nothing was changed.',
        "Reason: PAWL_RUN_OVER (exit code 1)",
        "Next:",
        "  To do the work again, start it under another id, or with --on-existing restart-closed.",
        "  npx --no pawl run list",
        "",
      ].join("\n"),
    ]);
  });

  it("makes a request id when none is given, and tells it", async () => {
    const [first, second] = [
      ...(await cli.json("signal", "r", "other")),
      ...(await cli.json("signal", "r", "other")),
    ];
    expect(first?.["requestId"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).toMatchObject({ existing: false });
    expect(second?.["requestId"]).not.toBe(first?.["requestId"]);
  });

  it.each([
    [["r", "paid", "--payload", "not json"], 2, "Expected --payload to be JSON or @FILE"],
    [["r"], 2, "missing required argument 'name'"],
    [["absent", "paid"], 1, "PAWL_RUN_NOT_FOUND"],
    [["r", ""], 1, "PAWL_INVALID_FIELD"],
    [["r", "paid", "--expected-version", "9999"], 1, "PAWL_STALE_VERSION"],
    [["r", "x".repeat(201)], 1, "PAWL_INVALID_FIELD"],
  ])("refuses %j", async (args, code, named) => {
    const refused = await cli.refusal("signal", ...args);
    expect([refused.code, refused.said]).toEqual([code, expect.stringContaining(named)]);
  });

  it("refuses the same request id with another content, and shows no control character", async () => {
    const paid = ["signal", "r", "p\u001b[31m", "--request-id", "bank-1", "--payload"];
    expect(await cli.out(...paid, "1")).toContain("Signal p\\u001b[31m is in run");
    const { code, said } = await cli.refusal(...paid, "2");
    expect([code, said]).toEqual([1, expect.stringContaining("PAWL_FINGERPRINT_CONFLICT")]);
    expect(said).not.toContain("\u001b");
  });
});

describe("pawl run pause and resume", () => {
  beforeEach(async () => {
    await cli.client.start(wait, undefined, { runId: "r" });
    await cli.until("SUSPENDED", "run", "show", "r");
  });

  it("hold a run and let it go on, by the command that was printed", async () => {
    const paused = await cli.out("run", "pause", "r", "--reason", "the bank is down");
    expect(paused).toContain("Run r is PAUSED: nothing of it is offered until it is resumed");
    expect(paused).toContain("and no task of it runs.");
    expect(await cli.out("run", "show", "r")).toMatch(/paused: .*the bank is down/);
    await cli.out("signal", "r", "paid", "--payload", "1");
    expect(await cli.out("run", "pause", "r")).toContain("was paused before; nothing was changed");
    const version = /run resume r --expected-version (\d+)/.exec(paused)?.[1] ?? "";
    const stale = await cli.refusal("run", "resume", "r", "--expected-version", "1");
    expect([stale.code, stale.said]).toEqual([1, expect.stringContaining("PAWL_STALE_VERSION")]);
    expect(Number(version)).toBeGreaterThan(1);
    expect(await cli.out("run", "resume", "r")).toContain("Run r goes on");
    expect(await cli.client.run("r").result({ timeout: "10s" })).toBe(1);
  });

  it("tell scripts the version to restate, and that nothing was changed", async () => {
    const [paused] = await cli.json("run", "pause", "r");
    expect(paused).toMatchObject({ runId: "r", existing: false, runningTasks: 0 });
    const version = `${paused?.["version"]}`;
    const resume = ["run", "resume", "r", "--expected-version", version];
    expect(await cli.json(...resume)).toMatchObject([{ runId: "r", existing: false }]);
    expect(await cli.out("run", "resume", "r")).toContain("was not paused; nothing was changed");
  });

  it.each([
    [["pause", "absent"], 1, "PAWL_RUN_NOT_FOUND"],
    [["resume", "absent"], 1, "PAWL_RUN_NOT_FOUND"],
    [["pause", "r", "--expected-version", "9999"], 1, "PAWL_STALE_VERSION"],
    [["pause", "r", "--expected-version", "-1"], 2, "whole number"],
    [["pause"], 2, "missing required argument 'run'"],
    [["pause", "r", "--reason", "x".repeat(1001)], 1, "PAWL_INVALID_FIELD"],
  ])("refuse %j", async (args, code, named) => {
    const refused = await cli.refusal("run", ...args);
    expect([refused.code, refused.said]).toEqual([code, expect.stringContaining(named)]);
  });

  it("refuse a run that is over", async () => {
    await cli.out("run", "terminate", "r");
    for (const verb of ["pause", "resume"]) {
      const { code, said } = await cli.refusal("run", verb, "r");
      expect([code, said]).toEqual([1, expect.stringContaining("PAWL_RUN_OVER")]);
    }
  });
});

describe("pawl run update and query", () => {
  beforeEach(async () => {
    await cli.client.start(moves, undefined, { runId: "r" });
  });

  it("print what the code answers, once for each id, and what it published last", async () => {
    const sent = ["run", "update", "r", "move", "--payload", '"Kiel"', "--update-id", "u1"];
    expect(await cli.out(...sent)).toContain(
      'Update move of run "r" was accepted with {"to":"Kiel"}.',
    );
    expect(await cli.json(...sent)).toMatchObject([
      { runId: "r", name: "move", updateId: "u1", existing: true },
    ]);
    await cli.until('"Kiel"', "run", "query", "r", "city");
    expect(await cli.out("run", "query", "r", "city")).toContain("city, version 2, published ");
    expect(await cli.out("run", "query", "r")).toMatch(/city +2 /);
    expect(await cli.json("run", "query", "r")).toMatchObject([{ name: "city", version: 2 }]);
    expect(await cli.json("run", "query", "r", "city")).toMatchObject([
      { runId: "r", published: { name: "city", task: "main", attempt: 1 } },
    ]);
  });

  it("say why an update was refused, and how to wait for one that has no answer", async () => {
    const sent = ["run", "update", "r", "move", "--payload", '"Bonn"'];
    const refused = await cli.pawl(...sent, "--update-id", "u1");
    expect(refused).toMatchObject({ code: 1, errors: "" });
    expect(refused.out).toContain('of run "r" was refused: It is there already.');
    expect((await cli.pawl(...sent, "--update-id", "u1", "--json")).code).toBe(1);
    const second = [...sent, "--update-id", "u2", "--timeout", "0s"];
    const open = await cli.pawl(...second);
    expect(open).toMatchObject({ code: 75, errors: "" });
    expect(open.out).toContain("is acknowledged and not answered yet");
    expect((await cli.pawl(...second, "--json")).code).toBe(75);
    expect(open.out).toContain("npx --no pawl run update r move --update-id u2 --payload JSON");
  });

  it("show what workers wrote safely, and say where the rest of it is", async () => {
    const evil = "a\u001b[31m\u202eb";
    const send = ["run", "update", "r", "move", "--payload", JSON.stringify(evil)];
    expect(await cli.out(...send)).toContain('was accepted with {"to":"a\\u001b[31m\\u202eb"}.');
    await cli.until("version 2", "run", "query", "r", "city");
    const shown = await cli.out("run", "query", "r", "city");
    expect(shown).toContain('value: "a\\u001b[31m\\u202eb"\n');
    for (const raw of ["\u001b", "\u202e"]) expect(shown).not.toContain(raw);
    expect(await cli.out("run", "query", "r")).toMatch(/^NAME +VERSION +PUBLISHED +TASK +SIZE$/m);
  });

  it("show content that is long in lines, and say where the rest of it is", async () => {
    const long = Array.from({ length: 300 }, (_, at) => `line ${at}`).join("\n");
    const told = await cli.out("run", "update", "r", "move", "--payload", JSON.stringify(long));
    await cli.until("version 2", "run", "query", "r", "city");
    for (const out of [told, await cli.out("run", "query", "r", "city")]) {
      expect(out).toContain("line 20\\n\n");
      expect(out).toMatch(/… \d+ more lines: --json has all$/m);
    }
  });

  it("say what is not there, and what to do", async () => {
    const none = await cli.refusal("run", "query", "r", "none");
    expect([none.code, none.said]).toEqual([1, expect.stringContaining("PAWL_QUERY_NOT_FOUND")]);
    expect(await cli.out("run", "query", "r")).toBeDefined();
  });
});
